// Whatever bytes come in as a header: the reader ends, and what it says has a place and is fit for printing. Headers without errors make
// the same CRDs, tables, samples and pages twice, and the embedded server takes the CRDs and reads the YAML as it was meant.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/utf8.h"
#include "generate/crd.h"
#include "generate/header_reader.h"
#include "generate/reference.h"
#include "generate/resolve.h"
#include "generate/sample.h"
#include "generate/table_writer.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/codec/yaml.h"
#include "require.h"

using kube::fuzz::Require;
using namespace kube::generate;

namespace {

std::string Make(std::string_view text, bool& fine) {
  Model model;
  Problems problems;
  ReadHeader("x.h", text, {}, model, problems);
  ResolveTypes(model, BuiltinTypes::Get(), problems);
  std::string out;
  if (!problems.has_errors()) {
    const std::vector<Crd> crds = MakeCrds(model, BuiltinTypes::Get(), {}, problems);
    out += WriteTables(model, 0, "x.h", problems);
    if (!problems.has_errors()) {
      for (const Crd& crd : crds) {
        const std::string yaml = crd.ToYaml();
        const kube::Result<std::vector<kube::Value>> read = kube::ParseYaml(yaml);
        Require(read && read->size() == 1 && read->front() == crd.object, "the YAML is the CRD");
        Require(kube::apiserver::CrdValidator::Make(crd.object).ok(), "a server takes the CRD");
        out += yaml;
      }
      for (const Sample& sample : MakeSamples(crds, model)) {
        Require(kube::ParseYaml(sample.ToYaml()).ok(), "a sample is YAML");
        out += sample.ToYaml();
      }
      for (const Page& page : MakePages(model, BuiltinTypes::Get(), crds, {}, problems)) out += page.text;
    }
  }
  for (const Problem& problem : problems.Sorted()) {
    Require(problem.at.file != nullptr && problem.at.line > 0 && problem.at.column > 0, "every problem has a place");
    Require(!problem.text.empty() && problem.text.size() < 1100, "every problem says something, briefly");
    for (char c : problem.text) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "messages have no control characters");
  }
  Require(kube::internal::ValidUtf8(out), "the output is text");
  fine = !problems.has_errors();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool fine = false, again = false;
  const std::string first = Make(text, fine);
  Require(Make(text, again) == first && fine == again, "the same header makes the same output");
  return 0;
}

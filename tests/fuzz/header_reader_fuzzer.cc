// Whatever bytes come in as a header: the reader ends, and what it says has a place and is fit for printing. Headers without errors make
// the same CRDs and tables twice.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "generate/crd.h"
#include "generate/header_reader.h"
#include "generate/resolve.h"
#include "generate/table_writer.h"
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
    for (const Crd& crd : MakeCrds(model, BuiltinTypes::Get(), {}, problems)) out += crd.ToYaml();
    out += WriteTables(model, 0, "x.h", problems);
  }
  for (const Problem& problem : problems.Sorted()) {
    Require(problem.at.file != nullptr && problem.at.line > 0 && problem.at.column > 0, "every problem has a place");
    Require(!problem.text.empty() && problem.text.size() < 1100, "every problem says something, briefly");
    for (char c : problem.text) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "messages have no control characters");
  }
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

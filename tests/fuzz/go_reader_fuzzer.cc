// Whatever bytes come in as Go: the reader ends, and what it says has a place and is fit for printing. Types without errors make the same
// headers twice, the declaration reader understands these, and the CRDs made of them are those made of the Go types. A line of `-- PATH --`
// begins another package, which the first one may import.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generate/crd.h"
#include "generate/go_types.h"
#include "generate/header_reader.h"
#include "generate/header_writer.h"
#include "generate/resolve.h"
#include "require.h"

using kube::fuzz::Require;
using namespace kube::generate;

namespace {

constexpr std::size_t kMostPackages = 4;

void CheckProblems(const Problems& problems) {
  for (const Problem& problem : problems.Sorted()) {
    Require(problem.at.file != nullptr && problem.at.line > 0 && problem.at.column > 0, "every problem has a place");
    Require(!problem.text.empty() && problem.text.size() < 1100, "every problem says something, briefly");
    for (char c : problem.text) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "messages have no control characters");
  }
}

std::vector<kube::Value> CrdsOf(const Model& model, bool& fine) {
  Problems problems;
  CrdOptions options;
  options.schema = {.allow_dangerous_types = true, .embedded_object_meta = false, .max_description = 0};
  std::vector<kube::Value> out;
  for (const Crd& crd : MakeCrds(model, BuiltinTypes::Get(), options, problems)) out.push_back(crd.object);
  fine = !problems.has_errors();
  return out;
}

std::vector<std::string> Headers(std::string_view text, bool compare) {
  Problems problems;
  GoPackages packages({.imports = {}, .run_go = false}, problems);
  const GoPackage* given = nullptr;
  std::string path = "example.com/api/v1";
  for (std::size_t i = 0; i < kMostPackages; ++i) {
    const std::size_t next = text.find("\n-- ");
    const GoPackage* package = packages.Add(path, {{path + "/x.go", std::string(text.substr(0, next))}});
    if (given == nullptr) given = package;
    if (next == std::string_view::npos) break;
    text.remove_prefix(next + 4);
    const std::size_t end = text.find(" --\n");
    if (end == std::string_view::npos || end > 100) break;
    path = text.substr(0, end);
    text.remove_prefix(end + 4);
  }
  Model model;
  ReadGoTypes({given}, packages, model, problems);
  CheckProblems(problems);
  if (problems.has_errors()) return {};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < model.files.size(); ++i) out.push_back(WriteHeader(model, i, problems));
  if (!compare || problems.has_errors()) return out;
  Model again;
  Problems wrong;
  for (std::size_t i = 0; i < out.size(); ++i) ReadHeader(model.files[i].path, out[i], {}, again, wrong);
  ResolveTypes(again, BuiltinTypes::Get(), wrong);
  Require(!wrong.has_errors(), "headers of Go types are understood");
  bool fine = false, also_fine = false;
  const std::vector<kube::Value> crds = CrdsOf(model, fine), others = CrdsOf(again, also_fine);
  Require(fine == also_fine, "CRDs of Go types and of their headers are both right or both wrong");
  Require(!fine || crds == others, "the CRDs of Go types and of their headers are equal");
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> first = Headers(text, true);
  Require(Headers(text, false) == first, "the same Go types make the same headers");
  return 0;
}

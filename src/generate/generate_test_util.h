// What the tests of this room share: a header as text, and what became of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/crd.h"
#include "generate/header_reader.h"
#include "generate/resolve.h"

namespace kube::generate {

// One run over headers that are given as text.
struct TestRun {
  Model model;
  Problems problems;
  std::vector<Crd> crds;

  // Errors and warnings, one per line.
  std::string text() const { return problems.ToString(); }
};

inline TestRun ReadOnly(std::string_view header, HeaderOptions options = {}) {
  TestRun run;
  ReadHeader("x.h", header, options, run.model, run.problems);
  ResolveTypes(run.model, BuiltinTypes::Get(), run.problems);
  return run;
}

inline TestRun RunHeaders(const std::vector<std::pair<std::string, std::string>>& headers, const CrdOptions& options = {}) {
  TestRun run;
  for (const auto& [path, text] : headers) ReadHeader(path, text, {}, run.model, run.problems);
  ResolveTypes(run.model, BuiltinTypes::Get(), run.problems);
  if (!run.problems.has_errors()) run.crds = MakeCrds(run.model, BuiltinTypes::Get(), options, run.problems);
  return run;
}

inline TestRun RunHeader(std::string text, const CrdOptions& options = {}) { return RunHeaders({{"x.h", std::move(text)}}, options); }

// A header with one kind, Thing, whose spec has these members (and `above` over the kind, `before` over the spec).
inline std::string ThingHeader(std::string_view members, std::string_view above = "", std::string_view before = "") {
  return "// +groupName=example.com\n// +versionName=v1\n#pragma once\n#include <kube/kind.h>\n\nnamespace example::v1 {\n\n" +
         std::string(before) + "struct ThingSpec {\n" + std::string(members) + "\n  KUBE_TABLE(ThingSpec);\n};\n\n" + std::string(above) +
         "struct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n  ThingSpec spec{};\n\n  KUBE_TABLE(Thing);\n};\n\n}  // namespace "
         "example::v1\n";
}

}  // namespace kube::generate

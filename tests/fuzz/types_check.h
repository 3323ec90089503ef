// What the fuzz targets of `kubexx generate types` ask of its headers.
#pragma once

#include <string>
#include <vector>

#include "generate/crd_reader.h"
#include "generate/header_reader.h"
#include "generate/resolve.h"
#include "generate/types.h"
#include "require.h"

namespace kube::fuzz {

// They are fit for compilers, the reader of headers understands them, and the same definitions make the same ones.
inline void CheckTypes(const std::vector<generate::CrdInput>& crds, const generate::CrdReaderOptions& options) {
  using namespace kube::generate;
  Problems problems;
  const Types types = MakeTypes(crds, options, problems);
  for (const Problem& problem : problems.Sorted()) Require(!problem.text.empty(), "every problem says something");
  Require(!problems.has_errors() || types.files.empty(), "no headers where there are errors");
  Model model;
  Problems found;
  for (const OutputFile& file : types.files) {
    for (char c : file.text) Require(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20, "headers have no control characters");
    ReadHeader(file.path, file.text, {}, model, found);
  }
  ResolveTypes(model, BuiltinTypes::Get(), found);
  Require(!found.has_errors(), "the reader of headers understands them");
  Problems again;
  const Types same = MakeTypes(crds, options, again);
  Require(same.files.size() == types.files.size() && again.ToString() == problems.ToString(), "the same definitions make the same headers");
  for (std::size_t i = 0; i < types.files.size(); ++i) Require(same.files[i].text == types.files[i].text, "the same text");
}

}  // namespace kube::fuzz

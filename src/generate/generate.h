// One run of the generator: from headers to the files that it writes.
//
//   Output out = Generate({.headers = {"api/v1/network_types.h"}, .tables = "build/gen", .manifests = "config"}, problems);
//   if (!problems.has_errors()) Result<std::vector<std::string>> changed = WriteOutput(out);
//
// Generate only reads. The same headers make the same output, byte for byte, in whatever order they are given.
#pragma once

#include <string>
#include <vector>

#include "generate/crd.h"
#include "generate/problems.h"
#include "kube/base/result.h"

namespace kube::generate {

struct GenerateOptions {
  std::vector<std::string> headers;   // files, or folders whose *.h are read
  std::vector<std::string> includes;  // folders that #include searches
  std::string tables;                 // folder for the .kube.cc files; empty: none are made
  std::string manifests;              // folder for crd/<group>_<plural>.yaml; empty: none are made
  bool lenient = false;               // unknown markers are warnings
  CrdOptions crd;
};

struct OutputFile {
  std::string path;
  std::string text;
};

// Files sorted by path. Not to be written if there were errors.
struct Output {
  std::vector<OutputFile> files;
  // Files of earlier runs that nothing makes any more: generated CRDs of other kinds in the folder for CRDs.
  std::vector<std::string> stale;
};

Output Generate(const GenerateOptions& options, Problems& problems);

// The files that WriteOutput would change or remove.
Result<std::vector<std::string>> StaleFiles(const Output& output);

// Writes what differs, makes folders, removes what is stale. Each file is replaced as a whole. Returns what changed.
Result<std::vector<std::string>> WriteOutput(const Output& output);

}  // namespace kube::generate

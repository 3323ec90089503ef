// One run of the generator: from headers to the files that it writes.
//
//   Output out = Generate({.headers = {"api/v1/network_types.h"}, .tables = "build/gen", .manifests = "config"}, problems);
//   if (!problems.has_errors()) Result<std::vector<std::string>> changed = WriteOutput(out);
//
// Generate only reads. The same headers make the same output, byte for byte, in whatever order they are given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate/crd.h"
#include "generate/problems.h"
#include "kube/base/result.h"

namespace kube::generate {

struct GenerateOptions {
  std::vector<std::string> headers;   // files, or directories whose *.h are read
  std::vector<std::string> sources;   // C++ files, or directories of them, to search for markers of the program: source_reader.h
  std::vector<std::string> includes;  // directories for #include
  std::string tables;                 // directory for the .kube.cc files; empty for none
  // Directory for crd/<group>_<plural>.yaml, rbac/role.yaml and webhook/manifests.yaml; empty for none.
  std::string manifests;
  std::string samples;      // directory for one sample per kind and version; empty for none
  std::string docs;         // directory for one reference page per group and version; empty for none
  bool all_tables = false;  // a .kube.cc file even for a header that needs none
  bool lenient = false;     // unknown markers are warnings
  // The output of the program's --print-manifests, merged with the markers. A run without it keeps the roles and webhook configurations
  // that a run with it wrote.
  std::optional<std::string> program;
  std::string role_name = "manager-role";  // of the program's roles, and of markers without roleName
  bool crds_only = false;                  // no roles and webhook configurations: another run writes them to this directory
  CrdOptions crd;
};

struct OutputFile {
  std::string path;
  std::string text;
};

// Files sorted by path, without existing samples, which belong to the user. Do not write them if there were errors.
struct Output {
  std::vector<OutputFile> files;
  // Stale files of earlier runs: generated CRDs of other kinds, pages of other versions, roles without a rule.
  std::vector<std::string> stale;
  // The headers and sources that were read, sorted, with absolute paths.
  std::vector<std::string> read;
};

Output Generate(const GenerateOptions& options, Problems& problems);

// The files that WriteOutput would change or remove.
Result<std::vector<std::string>> StaleFiles(const Output& output);

// Writes files that differ, creates directories, and removes stale files. Each file is replaced atomically, and none before all are written
// next to their places: if a directory is not writable, nothing changes. Returns the changed paths.
Result<std::vector<std::string>> WriteOutput(const Output& output);

// Writes "<path without .d>: <headers>", a make rule, from which a build system learns when to generate again.
Result<void> WriteDepfile(const std::string& path, const std::vector<std::string>& headers);

}  // namespace kube::generate

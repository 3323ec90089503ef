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
  std::vector<std::string> headers;   // files, or folders whose *.h are read
  std::vector<std::string> sources;   // C++ files, or folders of them, that are searched for markers of the program: source_reader.h
  std::vector<std::string> includes;  // folders that #include searches
  std::string tables;                 // folder for the .kube.cc files; empty: none are made
  // Folder for crd/<group>_<plural>.yaml, rbac/role.yaml and webhook/manifests.yaml; empty: none are made.
  std::string manifests;
  std::string samples;      // folder for one sample per kind and version; empty: none are made
  std::string docs;         // folder for one reference page per group and version; empty: none are made
  bool all_tables = false;  // a .kube.cc also for a header that needs none
  bool lenient = false;     // unknown markers are warnings
  // What the program prints for --print-manifests, merged with what markers say. A run without it leaves the roles and webhook
  // configurations as they are that one with it wrote.
  std::optional<std::string> program;
  std::string role_name = "manager-role";  // of the program's roles, and of markers without roleName
  bool crds_only = false;                  // no roles and webhook configurations: another run writes those of this folder
  CrdOptions crd;
};

struct OutputFile {
  std::string path;
  std::string text;
};

// Files sorted by path, without the samples that exist: those are the user's. Not to be written if there were errors.
struct Output {
  std::vector<OutputFile> files;
  // Files of earlier runs that nothing makes any more: generated CRDs of other kinds, pages of other versions, roles without a rule.
  std::vector<std::string> stale;
  // The headers and sources that were read, sorted, with absolute paths.
  std::vector<std::string> read;
};

Output Generate(const GenerateOptions& options, Problems& problems);

// The files that WriteOutput would change or remove.
Result<std::vector<std::string>> StaleFiles(const Output& output);

// Writes what differs, makes folders, removes what is stale. Each file is replaced as a whole, and none before all are written beside their
// places: if a folder cannot be written, everything stays as it was. Returns what changed.
Result<std::vector<std::string>> WriteOutput(const Output& output);

// Writes "<path without .d>: <headers>", a rule of make, from which a build system learns when to generate anew.
Result<void> WriteDepfile(const std::string& path, const std::vector<std::string>& headers);

}  // namespace kube::generate

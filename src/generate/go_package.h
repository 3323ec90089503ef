// Go packages: the files of a folder, and the folders of what they import.
//
//   GoPackages packages({.imports = {{"example.com/shared", "../shared"}}}, problems);
//   const GoPackage* api = packages.Read("api/v1");
//   const GoPackage* shared = packages.Import(*api, "example.com/shared", at);
//
// An import is looked for among `imports`, in the module of the package (go.mod), in its vendor folder, and at last by `go list`, which is
// run as a child process if Go is installed. Test files, files that are not built on Linux, and those of other tools ("_x.go") are left
// out.
//
// Blocking: reads files and runs go. Cost: each package is read once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/go_parser.h"
#include "generate/problems.h"

namespace kube::generate {

struct GoPackage {
  std::string path;    // the import path; the folder if that is not known
  std::string folder;  // where imports are looked up from
  std::string name;
  std::vector<GoFile> files;  // sorted by name
  std::vector<GoMarker> markers;

  struct Declaration {
    const GoTypeDecl* type = nullptr;
    const GoFile* file = nullptr;
  };
  std::map<std::string, Declaration, std::less<>> types;
  std::map<std::string, const GoConst*, std::less<>> consts;
  std::map<std::string, std::vector<const GoConst*>, std::less<>> consts_of;  // by type
  std::set<std::pair<std::string, std::string>> methods;                      // type, name

  // Adds a file, unless its package clause names another package; then it is an error.
  void Add(GoFile file, Problems& problems);
  // Fills what refers to files; after the last one was added.
  void Index(Problems& problems);
  // The string that a constant has; false if it is none, or its value is not understood.
  bool StringOf(const GoConst& constant, std::string& out) const;

 private:
  bool Evaluate(const GoToken*& at, const GoToken* end, int& steps, std::string& out) const;
};

struct GoPackageOptions {
  std::vector<std::pair<std::string, std::string>> imports;  // import path, folder; also for the packages below it
  bool run_go = true;                                        // false: `go list` is not asked
};

class GoPackages {
 public:
  GoPackages(GoPackageOptions options, Problems& problems) : options_(std::move(options)), problems_(problems) {}

  // The package in a folder. Null if there is none; then it was reported.
  const GoPackage* Read(const std::string& folder);
  // A package of these files: their names and texts.
  const GoPackage* Add(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files);
  // The package that a file of `from` imports.
  const GoPackage* Import(const GoPackage& from, const std::string& path, const Position& at);

 private:
  struct Module {
    std::string root, path;  // without go.mod both are empty
  };
  static Module ModuleOf(const std::string& folder);
  const GoPackage* ReadAs(const std::string& folder, const std::string& path, const Position& at);
  std::string FolderOf(const GoPackage& from, const std::string& path, const Position& at);
  std::string AskGo(const std::string& path, const Position& at);

  GoPackageOptions options_;
  Problems& problems_;
  std::string root_;                                              // the first folder that was read: its module decides about versions
  std::map<std::string, std::unique_ptr<GoPackage>> packages_;    // by canonical folder
  std::map<std::string, const GoPackage*, std::less<>> by_path_;  // null for one that was reported
};

}  // namespace kube::generate

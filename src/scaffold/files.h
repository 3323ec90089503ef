// Collects the files of one command: templates with their variables, PROJECT, and what follows from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "scaffold/scaffold.h"
#include "scaffold/template.h"

namespace kube::scaffold {

class FileSet {
 public:
  // With the variables of the project: name, domain.
  explicit FileSet(Project project);

  Project& project() { return project_; }
  Variables& variables() { return variables_; }

  // A file of the user.
  void Add(std::string_view template_name, std::string path);
  void Add(const ScaffoldFile& file) { out_.files.push_back(file); }
  // Adds PROJECT and the generated files. Errors: those of Expand.
  Result<Scaffold> Finish();

 private:
  Project project_;
  Variables variables_;
  Scaffold out_;
  Result<void> failed_{};
};

}  // namespace kube::scaffold

// The texts of scaffolded files: src/scaffold/templates/, embedded into the program.
//
//   @name@           the value of a variable
//   @if name@        up to @end@: these lines only if the variable is not empty. On lines of their own; they do not nest.
//   @if !name@       the opposite
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"

namespace kube::scaffold {

struct TemplateFile {
  std::string_view name;  // "types.h"
  std::string_view text;
};

using Variables = std::map<std::string, std::string, std::less<>>;

const std::vector<TemplateFile>& Templates();

// Errors: kInternal for an unknown template or variable, with its line.
Result<std::string> Expand(std::string_view name, const Variables& variables);
Result<std::string> ExpandText(std::string_view name, std::string_view text, const Variables& variables);

}  // namespace kube::scaffold

#include "scaffold/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace kube::scaffold {
namespace {

bool IsNameLetter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

class Expansion {
 public:
  Expansion(std::string_view name, const Variables& variables) : name_(name), variables_(variables) {}

  Result<std::string> Run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end);
      ++line_;
      if (Result<void> done = Line(line); !done) return done.error();
    }
    if (taken_) return Problem("@end@ is missing");
    return std::move(out_);
  }

 private:
  Error Problem(std::string_view what) const { return Error::Internal(fmt::format("template {}:{}: {}", name_, line_, what)); }

  Result<std::string_view> Value(std::string_view variable) const {
    const auto found = variables_.find(variable);
    if (found == variables_.end()) return Problem(fmt::format("there is no variable {}", variable));
    return std::string_view(found->second);
  }

  Result<void> Line(std::string_view line) {
    const std::string_view bare = line.substr(0, line.find_last_not_of(" \n") + 1);
    if (bare == "@end@") {
      if (!taken_) return Problem("@end@ without @if@");
      taken_.reset();
      return {};
    }
    if (bare.starts_with("@if ") && bare.ends_with('@')) {
      std::string_view variable = bare.substr(4, bare.size() - 5);
      const bool negated = variable.starts_with('!');
      if (negated) variable.remove_prefix(1);
      if (taken_) return Problem("@if@ inside of another one");
      const Result<std::string_view> value = Value(variable);
      if (!value) return value.error();
      taken_ = value->empty() == negated;
      return {};
    }
    if (taken_ && !*taken_) return {};
    return Replace(line);
  }

  Result<void> Replace(std::string_view line) {
    for (std::size_t at = 0; at < line.size();) {
      std::size_t end = at + 1;
      while (line[at] == '@' && end < line.size() && IsNameLetter(line[end])) ++end;
      if (line[at] != '@' || end == at + 1 || end == line.size() || line[end] != '@') {
        out_ += line[at++];
        continue;
      }
      const Result<std::string_view> value = Value(line.substr(at + 1, end - at - 1));
      if (!value) return value.error();
      out_ += *value;
      at = end + 1;
    }
    return {};
  }

  std::string_view name_;
  const Variables& variables_;
  std::string out_;
  int line_ = 0;
  std::optional<bool> taken_;  // inside of @if@: whether its lines count
};

}  // namespace

Result<std::string> ExpandText(std::string_view name, std::string_view text, const Variables& variables) {
  return Expansion(name, variables).Run(text);
}

Result<std::string> Expand(std::string_view name, const Variables& variables) {
  const std::vector<TemplateFile>& files = Templates();
  const auto found = std::find_if(files.begin(), files.end(), [&](const TemplateFile& file) { return file.name == name; });
  if (found == files.end()) return Error::Internal(fmt::format("there is no template {}", name));
  return ExpandText(name, found->text, variables);
}

}  // namespace kube::scaffold

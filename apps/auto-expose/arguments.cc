#include "arguments.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "kube/codec/yaml.h"
#include "kube/value/value.h"

namespace auto_expose {
namespace {

using kube::Error;
using kube::ErrorKind;
using kube::Result;

constexpr std::string_view kVariablePrefix = "AUTO_EXPOSE_";

using Flags = std::vector<std::pair<std::string, std::string>>;  // name, value

std::optional<std::string> ValueOf(const std::vector<std::string>& arguments, std::string_view flag) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == flag && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with(std::string(flag) + "=")) value = arguments[i].substr(flag.size() + 1);
  }
  return value;
}

Flags FromVariables(const Environment& environment) {
  Flags flags;
  for (const std::string& variable : environment.variables) {
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(kVariablePrefix) || equals == std::string::npos) continue;
    std::string name = variable.substr(kVariablePrefix.size(), equals - kVariablePrefix.size());
    for (char& c : name) c = c == '_' ? '-' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    flags.emplace_back(std::move(name), variable.substr(equals + 1));
  }
  return flags;
}

Result<std::string> Scalar(const std::string& file, std::string_view key, const kube::Value& value) {
  if (value.is_string()) return value.string_value().str();
  if (value.is_bool()) return std::string(value.bool_value() ? "true" : "false");
  if (value.is_int()) return std::to_string(value.int_value());
  return Error(ErrorKind::kInvalid, file + ": " + std::string(key) + " has to be a text, a number, true or false, or a list of these");
}

Result<Flags> FromFile(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Error(ErrorKind::kInvalid, file + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Result<std::vector<kube::Value>> documents = kube::ParseYaml(text);
  if (!documents) return documents.error().WithContext(file);
  Flags flags;
  if (documents->empty()) return flags;
  if (documents->size() != 1 || !documents->front().is_object()) {
    return Error(ErrorKind::kInvalid, file + ": has to be one YAML map of flags: \"domain: example.com\"");
  }
  for (const auto& entry : documents->front().object()) {
    if (entry.key == "config") return Error(ErrorKind::kInvalid, file + ": config cannot be set in a config file");
    const std::string key = entry.key.str();
    if (!entry.value.is_list()) {
      Result<std::string> value = Scalar(file, key, entry.value);
      if (!value) return value.error();
      flags.emplace_back(key, std::move(*value));
      continue;
    }
    for (const kube::Value& item : entry.value.list()) {
      Result<std::string> value = Scalar(file, key, item);
      if (!value) return value.error();
      flags.emplace_back(key, std::move(*value));
    }
  }
  return flags;
}

}  // namespace

Environment Environment::OfProcess() {
  Environment environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) environment.variables.emplace_back(*variable);
  return environment;
}

Result<std::vector<std::string>> AllArguments(std::vector<std::string> command_line, const Environment& environment) {
  std::set<std::string> said;
  for (const std::string& argument : command_line) {
    if (!argument.starts_with("--")) continue;
    std::string name = argument.substr(2, argument.find('=') - 2);
    if (name.starts_with("no-")) said.insert(name.substr(3));
    said.insert(std::move(name));
  }
  std::vector<std::string> added;
  const auto add = [&](const Flags& flags) {
    std::set<std::string> here;
    for (const auto& [name, value] : flags) {
      if (said.count(name) != 0) continue;
      added.push_back("--" + name + "=" + value);
      here.insert(name);
    }
    said.merge(here);
  };
  const Flags variables = FromVariables(environment);
  std::optional<std::string> file = ValueOf(command_line, "--config");
  Flags rest;
  for (const auto& [name, value] : variables) {
    if (name != "config") {
      rest.emplace_back(name, value);
    } else if (!file) {
      file = value;
    }
  }
  add(rest);
  if (file && !file->empty()) {
    Result<Flags> flags = FromFile(*file);
    if (!flags) return flags.error();
    add(*flags);
  }
  // Behind a subcommand, which is a word of its own.
  std::size_t at = 0;
  while (at < command_line.size() && !command_line[at].starts_with('-')) ++at;
  command_line.insert(command_line.begin() + static_cast<std::ptrdiff_t>(at), added.begin(), added.end());
  return command_line;
}

}  // namespace auto_expose

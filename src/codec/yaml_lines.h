// YAML with the lines of its top-level members, for messages about configuration files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/codec/yaml.h"

namespace kube::internal {

struct YamlMemberLine {
  std::string key;
  int line = 1;
};

// As ReadYaml, but also appends the members of each document's top-level object. JSON is parsed as YAML, so that it has lines, too.
KUBE_EXPORT Result<std::vector<YamlDocument>> ReadYamlWithLines(std::string_view text, std::vector<YamlMemberLine>& lines);

}  // namespace kube::internal

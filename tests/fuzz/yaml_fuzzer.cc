// Whatever bytes come in, the YAML reader ends, and what it read can be written and read back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "codec/yaml_lines.h"
#include "kube/codec/yaml.h"

namespace {

// As config files of flags are read: each member of a top-level object has its line.
void CheckLines(std::string_view text) {
  std::vector<kube::internal::YamlMemberLine> lines;
  const kube::Result<std::vector<kube::YamlDocument>> documents = kube::internal::ReadYamlWithLines(text, lines);
  if (!documents) return;  // JSON that is no YAML
  std::size_t members = 0;
  for (const kube::YamlDocument& document : *documents) {
    if (document.value.is_object()) members += document.value.object().size();
  }
  if (members != lines.size()) std::abort();
  for (const kube::internal::YamlMemberLine& line : lines) {
    if (line.line < 1) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  kube::Result<std::vector<kube::YamlDocument>> documents = kube::ReadYaml(text);
  if (!documents) {
    if (documents.error().message().empty()) std::abort();
    return 0;
  }
  CheckLines(text);
  for (const kube::YamlDocument& document : *documents) {
    if (document.line < 1) std::abort();
    std::string yaml = kube::ToYaml(document.value);
    // Aliases are written out; the text may have grown beyond what is worth the time here.
    if (yaml.size() > (std::size_t{1} << 20)) continue;
    kube::Result<std::vector<kube::Value>> again = kube::ParseYaml(yaml, {.strict = true});
    if (!again || again->size() != 1 || !(again->front() == document.value)) std::abort();
  }
  return 0;
}

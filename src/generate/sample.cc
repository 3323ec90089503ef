#include "generate/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generate/sample_value.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

using apiserver::CrdValidator;
using apiserver::CrdVerdict;

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string FirstLabel(const std::string& group) { return group.substr(0, group.find('.')); }

std::vector<std::string> Check(const CrdValidator& validator, const Value& object) {
  std::vector<std::string> out;
  const CrdVerdict verdict = validator.Check(object);
  for (const std::string& warning : verdict.warnings) {
    if (warning.starts_with("unknown field")) out.push_back(warning);
  }
  if (!verdict.error) return out;
  if (verdict.error->causes().empty()) out.push_back(verdict.error->message());
  for (const ErrorCause& cause : verdict.error->causes()) out.push_back(fmt::format("{}: {}", cause.field, cause.message));
  return out;
}

// Lines of a YAML comment, one for each text.
std::string Comment(std::string_view title, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string out = fmt::format("# {}\n", title);
  for (std::string text : texts) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    out += fmt::format("#   {}\n", text);
  }
  return out;
}

}  // namespace

std::string Sample::ToYaml() const {
  std::string out = "# A sample to edit: `kubexx generate` writes this file once and does not touch it again.\n";
  out += Comment("To do: no value was found for these fields, a server refuses the object for", wrong);
  out += Comment("To do: these rules are checked by the server only:", unchecked);
  out += Comment("Optional fields of the spec:", optional);
  return out + "---\n" + kube::ToYaml(object);
}

std::vector<Sample> MakeSamples(const std::vector<Crd>& crds, const Model& model) {
  std::map<std::string, std::set<std::string>> groups;  // by their first label
  for (const Crd& crd : crds) {
    const std::string group = model.FileOf(*crd.kinds[0]).group;
    groups[FirstLabel(group)].insert(group);
  }
  std::vector<Sample> out;
  for (const Crd& crd : crds) {
    const Result<CrdValidator> validator = CrdValidator::Make(crd.object);
    for (std::size_t i = 0; i < crd.kinds.size(); ++i) {
      const Value& version = crd.object["spec"]["versions"].list()[i];
      if (!version["served"].bool_value()) continue;
      const Struct& kind = *crd.kinds[i];
      const std::string group = model.FileOf(kind).group, name = model.FileOf(kind).version;
      const std::string shortest = groups[FirstLabel(group)].size() == 1 ? FirstLabel(group) : group;
      Sample sample{.file_name = fmt::format("{}_{}_{}.yaml", shortest, name, Lower(kind.name)), .crd = &crd, .kind = &kind};
      SampleValues values;
      const Value& schema = version["schema"]["openAPIV3Schema"];
      sample.object = values.Root(schema);
      sample.object["apiVersion"] = group + "/" + name;
      sample.object["kind"] = kind.name;
      sample.object["metadata"]["name"] = Lower(kind.name) + "-sample";
      sample.unchecked = values.rules();
      if (const Value* spec = std::as_const(sample.object).Find("spec"); spec != nullptr && spec->is_object() && spec->object().empty()) {
        for (const auto& [field, property] : schema["properties"]["spec"]["properties"].object()) sample.optional.push_back(field.str());
      }
      sample.wrong = validator ? Check(*validator, sample.object) : std::vector<std::string>{validator.error().message()};
      out.push_back(std::move(sample));
    }
  }
  std::sort(out.begin(), out.end(), [](const Sample& a, const Sample& b) { return a.file_name < b.file_name; });
  return out;
}

std::vector<std::string> CheckSample(const Crd& crd, std::string_view yaml) {
  const Result<CrdValidator> validator = CrdValidator::Make(crd.object);
  if (!validator) return {validator.error().message()};
  const Result<std::vector<Value>> documents = ParseYaml(yaml);
  if (!documents) return {documents.error().message()};
  std::vector<std::string> out;
  for (const Value& object : *documents) {
    std::string_view api_version = object["apiVersion"].string_value();
    if (object["kind"].string_value() != validator->kind() || api_version.substr(0, api_version.find('/')) != validator->group()) continue;
    for (std::string& problem : Check(*validator, object)) out.push_back(std::move(problem));
  }
  return out;
}

}  // namespace kube::generate

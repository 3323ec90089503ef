// Kinds of other projects: their headers are in external/, made by `kubexx generate types` or here, from a Go module.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "config/run_program.h"
#include "generate/go_types.h"
#include "generate/header_reader.h"
#include "generate/plural.h"
#include "kube/codec/json.h"
#include "scaffold/names.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "external/";
constexpr std::chrono::seconds kGoDeadline{300};  // it fetches a module
constexpr std::size_t kMostOutput = std::size_t{1} << 20;

using Texts = std::map<std::string, std::string>;  // by path in the project

Error Problem(const std::string& text) { return Error::Invalid("--external-api-path: " + text); }

// The folder of a module, which Go's command fetches if it has to.
Result<std::string> FetchModule(const std::string& module) {
  const std::optional<std::string> go = kube::internal::FindProgram("go");
  if (!go)
    return Problem(
        "a Go package needs Go's command, which is not here; `kubexx generate types --from-crd` makes headers of a CRD: pass one of these");
  if (module.empty() || module[0] == '-' || module.find('@') == std::string::npos)
    return Error::Invalid(fmt::format(
        "--external-api-module: \"{}\" is no module with a version, such as github.com/cert-manager/cert-manager@v1.20.2", module));
  const Context ctx = Context::Background().WithTimeout(kGoDeadline);
  const Result<kube::internal::ProgramEnd> ran = kube::internal::RunProgram(
      ctx, {.argv = {*go, "mod", "download", "-json", module}, .environment = {"GO111MODULE=on", "GOFLAGS="}, .max_output = kMostOutput});
  if (!ran) return ran.error();
  const Result<Value> said = ParseJson(ran->output.reveal());
  if (!said) return Error::Invalid(fmt::format("--external-api-module: go mod download {}: {}", module, ran->exit.ToString()));
  if (const String why = (*said)["Error"].string_value(); !why.empty()) return Error::Invalid("--external-api-module: " + why.str());
  return (*said)["Dir"].string_value().str();
}

Result<void> ReadGo(const ExternalOptions& options, ExternalKind& out, Texts& texts) {
  const std::string module = options.module.substr(0, options.module.find('@'));
  if (module.empty())
    return Problem(
        fmt::format("\"{}\" is no header of the project; if it is a Go package, pass --external-api-module, such as "
                    "github.com/cert-manager/cert-manager@v1.20.2",
                    options.path));
  if (options.path != module && !options.path.starts_with(module + "/"))
    return Problem(fmt::format("the package \"{}\" is not in the module {}", options.path, module));
  const Result<std::string> folder = FetchModule(options.module);
  if (!folder) return folder.error();
  generate::Problems problems;
  const generate::Types types = generate::MakeGoTypes({*folder + options.path.substr(module.size())}, {}, problems);
  if (problems.has_errors()) return Problem(problems.ToString());
  if (types.has_doubles)
    return Problem("these types have floating point numbers, which CRDs should not have; `kubexx generate types` reads them");
  for (const generate::OutputFile& file : types.files) {
    const std::string path = std::string(kFolder) + file.path;
    texts[path] = file.text;
    out.files.push_back({.path = path, .text = file.text});
  }
  return {};
}

bool ReadText(const std::string& path, std::string& out) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  std::ifstream in(path, std::ios::binary);
  out.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return true;
}

// The header, and those of external/ that it includes.
Result<void> ReadHeaders(const std::string& folder, const std::string& first, Texts& texts) {
  if (fs::path(first).lexically_normal() != first || !first.starts_with(kFolder))
    return Problem(fmt::format("\"{}\" is not in the folder {} of the project; `kubexx generate types --out external` writes headers there",
                               first, kFolder));
  std::vector<std::string> left = {first};
  while (!left.empty()) {
    const std::string path = left.back();
    left.pop_back();
    std::string text;
    if (texts.contains(path) || !ReadText(folder + "/" + path, text)) continue;
    generate::Model model;
    generate::Problems problems;
    generate::ReadHeader(path, text, {}, model, problems);
    if (problems.has_errors()) return Problem(problems.ToString());
    for (const std::string& include : model.files.at(0).includes) {
      if (include.starts_with("kube/")) continue;
      left.push_back((fs::path(path).parent_path() / include).lexically_normal().string());
      left.push_back((fs::path(kFolder) / include).lexically_normal().string());
    }
    texts[path] = std::move(text);
  }
  return {};
}

}  // namespace

Result<ExternalKind> FindExternalKind(const std::string& folder, const ExternalOptions& options, const std::string& group,
                                      const std::string& version, const std::string& kind) {
  for (const Result<void>& good : {CheckVersion(version), CheckKind(kind)}) {
    if (!good) return good.error();
  }
  ExternalKind out;
  Texts texts;
  std::error_code failed;
  const bool is_header = fs::is_regular_file(fs::path(folder) / options.path, failed);
  if (Result<void> read = is_header ? ReadHeaders(folder, options.path, texts) : ReadGo(options, out, texts); !read) return read.error();

  generate::Model model;
  generate::Problems problems;
  for (const auto& [path, text] : texts) generate::ReadHeader(path, text, {}, model, problems);
  if (problems.has_errors()) return Problem(problems.ToString());
  const std::string full = FullGroup(group, options.domain);
  std::string known;
  for (const generate::Struct& s : model.structs) {
    if (s.role != generate::StructRole::kKind) continue;
    const generate::File& file = model.FileOf(s);
    known += fmt::format("{}{}/{} {}", known.empty() ? "" : ", ", file.group, file.version, s.name);
    if (s.name != kind || file.group != full || file.version != version) continue;
    Resource& resource = out.resource;
    resource = {.group = full, .version = version, .kind = kind, .plural = generate::PluralOf(kind), .external = true, .header = file.path};
    if (const generate::Marker* marker = s.Find("kubebuilder:resource"); marker != nullptr) {
      if (const String path = marker->arguments["path"].string_value(); !path.empty()) resource.plural = path.str();
      resource.namespaced = marker->arguments["scope"].string_value() != "Cluster";
    }
    resource.type = s.qualified;
    for (const auto& [path, text] : texts) {
      if (path != file.path) resource.includes.push_back(path);
    }
  }
  if (out.resource.kind.empty())
    return Problem(fmt::format("{} has no {}/{} {}: it has {}; --external-api-domain is the end of the group", options.path, full, version,
                               kind, known.empty() ? "no kind" : known));
  return out;
}

}  // namespace kube::scaffold

#include "generate/go_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "config/run_program.h"

namespace kube::generate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;                   // of one folder
constexpr std::size_t kMostPackages = 512;                 // of one run
constexpr std::size_t kMostOutput = std::size_t{1} << 20;  // of go list
constexpr std::chrono::seconds kGoDeadline{120};           // it may have to fetch modules
constexpr int kMostSteps = 200;                            // of a constant's value, those of constants that it names included

std::string Canonical(const std::string& path) {
  std::error_code failed;
  const fs::path out = fs::weakly_canonical(path, failed);
  return failed ? path : out.string();
}

bool ReadText(const std::string& path, std::string& out) {
  std::ifstream in(path, std::ios::binary);
  out.clear();
  std::array<char, 65536> part;
  while (in && out.size() <= kMostGoBytes) {
    in.read(part.data(), part.size());
    out.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  return in.eof() || out.size() > kMostGoBytes;
}

// No path of a folder, and no pattern.
bool IsImportPath(std::string_view path) {
  if (path.empty() || path.front() == '.' || path.front() == '/' || path.front() == '-' || path.find("..") != std::string_view::npos)
    return false;
  return std::none_of(path.begin(), path.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '\\' || c == '*'; });
}

// "example.com/api" of `module example.com/api`.
std::string ModulePath(const std::string& go_mod) {
  std::istringstream in(go_mod);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word, path;
    if (!(words >> word >> path) || word != "module") continue;
    if (path.size() > 1 && (path[0] == '"' || path[0] == '`')) path = path.substr(1, path.size() - 2);
    return path;
  }
  return "";
}

bool IsBelow(std::string_view path, std::string_view above) {
  return path == above || (path.size() > above.size() && path.starts_with(above) && path[above.size()] == '/');
}

}  // namespace

// ---- GoPackage ----

void GoPackage::Add(GoFile file, Problems& problems) {
  if (file.package.empty()) return;
  if (name.empty()) name = file.package;
  if (file.package != name) {
    problems.Error(file.package_at,
                   fmt::format("package {} in the folder of package {}; keep one package in a folder", file.package, name));
    return;
  }
  files.push_back(std::move(file));
}

void GoPackage::Index(Problems& problems) {
  for (const GoFile& file : files) {
    markers.insert(markers.end(), file.markers.begin(), file.markers.end());
    for (const GoMethod& method : file.methods) methods.emplace(method.type, method.name);
    for (const GoConst& constant : file.consts) {
      consts.emplace(constant.name, &constant);
      // const A T = "a", const A = T("a")
      std::string type = constant.type;
      if (type.empty() && constant.expression.size() > 2 && constant.expression[1].Is("(")) type = constant.expression[0].text;
      if (!type.empty() && constant.name != "_") consts_of[type].push_back(&constant);
    }
    for (const GoTypeDecl& type : file.types) {
      if (type.name == "_") continue;
      auto [first, added] = types.emplace(type.name, Declaration{&type, &file});
      if (!added) {
        problems.Error(type.at,
                       fmt::format("type {} is declared twice; the first one is at {}", type.name, first->second.type->at.ToString()));
      }
    }
  }
}

bool GoPackage::StringOf(const GoConst& constant, std::string& out) const {
  const GoToken* at = constant.expression.data();
  const GoToken* end = at + constant.expression.size();
  int steps = 0;
  out.clear();
  return Evaluate(at, end, steps, out) && at == end;
}

// Literals, other constants, conversions, parentheses, joined by +.
bool GoPackage::Evaluate(const GoToken*& at, const GoToken* end, int& steps, std::string& out) const {
  while (true) {
    if (at == end || ++steps > kMostSteps) return false;
    const GoToken token = *at++;
    std::string part;
    if (token.kind == GoTokenKind::kString) {
      if (!GoStringValue(token.text, part)) return false;
    } else if (token.Is("(") || (token.kind == GoTokenKind::kName && at != end && at->Is("("))) {
      if (!token.Is("(")) ++at;
      if (!Evaluate(at, end, steps, part) || at == end || !at->Is(")")) return false;
      ++at;
    } else if (token.kind == GoTokenKind::kName) {
      const auto found = consts.find(token.text);
      if (found == consts.end()) return false;
      const GoToken* inner = found->second->expression.data();
      const GoToken* inner_end = inner + found->second->expression.size();
      if (!Evaluate(inner, inner_end, steps, part) || inner != inner_end) return false;
    } else {
      return false;
    }
    constexpr std::size_t kMostBytes = 4096;
    if (out.size() + part.size() > kMostBytes) return false;
    out += part;
    if (at == end || !at->Is("+")) return true;
    ++at;
  }
}

// ---- GoPackages ----

GoPackages::Module GoPackages::ModuleOf(const std::string& folder) {
  for (fs::path at = Canonical(folder);; at = at.parent_path()) {
    std::string text;
    std::error_code failed;
    if (fs::is_regular_file(at / "go.mod", failed) && ReadText((at / "go.mod").string(), text)) return {at.string(), ModulePath(text)};
    if (at == at.parent_path()) return {};
  }
}

const GoPackage* GoPackages::Read(const std::string& folder) {
  if (root_.empty()) root_ = folder;
  const Module module = ModuleOf(folder);
  std::string path = folder;
  if (!module.path.empty()) {
    const std::string rest = fs::path(Canonical(folder)).lexically_relative(module.root).generic_string();
    path = rest == "." ? module.path : module.path + "/" + rest;
  }
  const GoPackage* out = ReadAs(folder, path, {});
  if (out != nullptr) by_path_.emplace(path, out);
  return out;
}

const GoPackage* GoPackages::Add(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files) {
  auto package = std::make_unique<GoPackage>();
  package->path = package->folder = path;
  for (const auto& [name, text] : files) {
    if (GoFileIsBuilt(name, text)) package->Add(ParseGo(name, text, problems_), problems_);
  }
  package->Index(problems_);
  const GoPackage* out = packages_.insert_or_assign("//" + path, std::move(package)).first->second.get();
  by_path_[path] = out;
  return out;
}

const GoPackage* GoPackages::Import(const GoPackage& from, const std::string& path, const Position& at) {
  if (auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  if (!IsImportPath(path)) {
    problems_.Error(at, fmt::format("\"{}\" is no path of a package", path));
    by_path_.emplace(path, nullptr);
    return nullptr;
  }
  const std::string folder = FolderOf(from, path, at);
  const GoPackage* out = folder.empty() ? nullptr : ReadAs(folder, path, at);
  by_path_.emplace(path, out);
  return out;
}

const GoPackage* GoPackages::ReadAs(const std::string& folder, const std::string& path, const Position& at) {
  const std::string canonical = Canonical(folder);
  if (auto known = packages_.find(canonical); known != packages_.end()) return known->second.get();
  if (packages_.size() >= kMostPackages) {
    problems_.Error(at, fmt::format("more than {} packages; pass folders of types only", kMostPackages));
    return nullptr;
  }
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator i(folder, failed), end; !failed && i != end; i.increment(failed)) {
    const std::string name = i->path().filename().string();
    std::error_code unknown;  // a link that leads nowhere
    if (!name.ends_with(".go") || name.ends_with("_test.go") || name[0] == '_' || name[0] == '.' || !i->is_regular_file(unknown)) continue;
    files.push_back(i->path());
  }
  if (failed) {
    problems_.Error(at, fmt::format("{}: {}", folder, failed.message()));
    return nullptr;
  }
  if (files.size() > kMostFiles) {
    problems_.Error(at, fmt::format("{}: more than {} Go files", folder, kMostFiles));
    return nullptr;
  }
  std::sort(files.begin(), files.end());
  auto package = std::make_unique<GoPackage>();
  package->path = path;
  package->folder = folder;
  for (const fs::path& file : files) {
    if (fs::file_size(file, failed) > kMostGoBytes && !failed) {
      problems_.Error(at, fmt::format("{}: larger than {} bytes", file.string(), kMostGoBytes));
      continue;
    }
    std::string text;
    if (!ReadText(file.string(), text)) {
      problems_.Error(at, fmt::format("{}: cannot be read", file.string()));
      continue;
    }
    if (GoFileIsBuilt(file.filename().string(), text)) package->Add(ParseGo(file.string(), std::move(text), problems_), problems_);
  }
  if (package->files.empty()) {
    problems_.Error(at, fmt::format("{}: no Go files", folder));
    return nullptr;
  }
  package->Index(problems_);
  return packages_.emplace(canonical, std::move(package)).first->second.get();
}

std::string GoPackages::FolderOf(const GoPackage& from, const std::string& path, const Position& at) {
  std::error_code failed;
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& import : options_.imports) {
    if (IsBelow(path, import.first) && (best == nullptr || import.first.size() > best->first.size())) best = &import;
  }
  if (best != nullptr) {
    const std::string folder = best->second + path.substr(best->first.size());
    if (fs::is_directory(folder, failed)) return folder;
    problems_.Error(at, fmt::format("package \"{}\": --import {}={} has no folder {}", path, best->first, best->second, folder));
    return "";
  }
  for (const std::string& folder : {from.folder, root_}) {
    const Module module = ModuleOf(folder);
    if (module.path.empty()) continue;
    if (IsBelow(path, module.path)) {
      const std::string found = module.root + path.substr(module.path.size());
      if (fs::is_directory(found, failed)) return found;
    }
    const std::string vendored = module.root + "/vendor/" + path;
    if (fs::is_directory(vendored, failed)) return vendored;
  }
  return AskGo(path, at);
}

std::string GoPackages::AskGo(const std::string& path, const Position& at) {
  const std::string remedy = fmt::format("pass --import {}=DIR with the folder of its sources", path);
  const std::optional<std::string> go = options_.run_go ? kube::internal::FindProgram("go") : std::nullopt;
  if (!go) {
    problems_.Error(at, fmt::format("package \"{}\" is not found, and Go is not there to look for it; {}", path, remedy));
    return "";
  }
  const std::string format = "{{if .Dir}}={{.Dir}}{{else}}!{{with .Error}}{{.Err}}{{end}}{{end}}";
  const Context ctx = Context::Background().WithTimeout(kGoDeadline);
  Result<kube::internal::ProgramEnd> ran = kube::internal::RunProgram(
      ctx, {.argv = {*go, "-C", root_, "list", "-e", "-f", format, "--", path}, .environment = {}, .max_output = kMostOutput});
  std::string why;
  if (!ran) {
    why = ran.error().message();
  } else {
    std::string_view output = ran->output.reveal();
    while (output.ends_with('\n')) output.remove_suffix(1);
    if (output.starts_with('=')) return std::string(output.substr(1));
    why = output.starts_with('!') ? std::string(output.substr(1)) : "go list: " + ran->exit.ToString();
  }
  problems_.Error(at, fmt::format("package \"{}\" is not found: {}; {}", path, why, remedy));
  return "";
}

}  // namespace kube::generate

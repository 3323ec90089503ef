#include "generate/header_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "generate/comment_text.h"
#include "generate/marker_writer.h"
#include "generate/names.h"

namespace kube::generate {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::string_view kFileMarkers[] = {"groupName", "versionName", "kubebuilder:skip", "kubebuilder:validation:Required"};

// ---- Comments ----

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

// What the reader makes of these lines of comment.
std::string ReadBack(const std::vector<std::string>& lines, bool block) {
  std::vector<Comment> comments;
  comments.reserve(lines.size());
  std::string joined;
  if (block) {
    for (const std::string& line : lines) joined += (joined.empty() ? "" : "\n") + line;
    comments.push_back({.text = joined});
  } else {
    for (const std::string& line : lines) comments.push_back({.text = line});
  }
  std::vector<const Comment*> group;
  for (const Comment& comment : comments) group.push_back(&comment);
  return DescriptionOf(group);
}

// Without characters that end a line for some compilers, and those that no editor shows.
std::string Printable(std::string_view text) {
  std::string out;
  ForEachCodePoint(text, [&](std::uint32_t code, std::string_view bytes) {
    if (code == '\r' || IsInvisible(code)) return;
    if (code == 0xfffd && bytes.size() == 1) {
      out += '?';
    } else if (code < 0x20 && code != '\n' && code != '\t') {
      out += ' ';
    } else {
      out += bytes;
    }
  });
  return WithoutMargins(out);
}

}  // namespace

std::string WithoutMargins(std::string_view text) {
  std::string out;
  for (const std::string& line : LinesOf(text)) {
    const std::size_t end = line.find_last_not_of(" \t\r");
    if (end == std::string::npos && out.empty()) continue;
    out += line.substr(0, end == std::string::npos ? 0 : end + 1) + '\n';
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

namespace {

// A backslash or its trigraph at the end of a line joins it with the next one.
bool JoinsLines(std::string_view line) {
  return line.ends_with('\\') || line.ends_with(
                                     "?"
                                     "?/");
}

void Replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

void WriteComment(std::string_view description, std::string_view indent, std::string& out) {
  const std::string text = Printable(description);
  if (text.empty()) return;
  std::vector<std::string> lines;
  bool joins = false;
  for (const std::string& line : LinesOf(text)) {
    lines.push_back(line.empty() ? "//" : "// " + line);
    joins = joins || JoinsLines(line);
  }
  if (joins || ReadBack(lines, false) != text) {
    std::vector<std::string> block = LinesOf("/* " + text + " */");
    const bool ends = text.find("*/") == std::string::npos && text.find("/*") == std::string::npos;
    if (ends && (joins || ReadBack(block, true) == text)) {
      lines = std::move(block);
    } else if (joins) {
      for (std::string& line : lines) line += JoinsLines(line) ? " ." : "";
    }
  }
  // An empty line at the end, as controller-gen leaves it in front of a line with TODO: what ends the text keeps it.
  if (description.ends_with('\n') && lines.front().starts_with("//") && text.find("```") == std::string::npos) {
    const std::size_t newlines = description.size() - (description.find_last_not_of('\n') + 1);
    lines.insert(lines.end(), std::min<std::size_t>(newlines, 8), "//");
    lines.emplace_back("// ---");
  }
  // What still reads as a marker is text here.
  for (std::string& line : lines) {
    if (line.starts_with("// +")) line.insert(3, "\\");
    out += fmt::format("{}{}\n", indent, line);
  }
}

// ---- Types ----

class HeaderWriter {
 public:
  HeaderWriter(const Model& model, std::size_t file, Problems& problems) : model_(model), file_(file), problems_(problems) {}

  std::string Run() {
    for (const Alias& alias : model_.aliases) {
      if (alias.file == file_) CollectNames(alias.type);
    }
    for (const Struct& s : model_.structs) {
      if (s.file != file_) continue;
      for (const Field& field : s.fields) CollectNames(field.type);
    }
    for (const Struct& s : model_.structs) {
      if (s.file == file_) Declare(s.qualified);
    }
    for (const Alias& alias : model_.aliases) {
      if (alias.file == file_) Declare(alias.qualified);
    }
    if (!scope_.empty()) body_ += fmt::format("\n}}  // namespace {}\n", scope_);
    return Top() + body_;
  }

 private:
  std::string Top() {
    const File& file = model_.files[file_];
    std::string out;
    std::vector<Marker> markers;
    if (!file.group.empty()) markers.push_back({.name = "groupName", .value = file.group});
    if (!file.version.empty()) markers.push_back({.name = "versionName", .value = file.version});
    if (file.skip) markers.push_back({.name = "kubebuilder:skip"});
    if (file.required_default) markers.push_back({.name = "kubebuilder:validation:Required"});
    for (const Marker& marker : file.markers) {
      if (std::find(std::begin(kFileMarkers), std::end(kFileMarkers), marker.name) == std::end(kFileMarkers)) markers.push_back(marker);
    }
    WriteMarkers(markers, "", out);
    out += "#pragma once\n\n";
    std::set<std::string> known(file.includes.begin(), file.includes.end());
    known.insert("kube/kind.h");
    known.insert(includes_.begin(), includes_.end());
    bool system = false;
    for (const std::string& name : known) {
      if (name.starts_with("kube/")) out += fmt::format("#include <{}>\n", name);
      system = system || !name.starts_with("kube/");
    }
    if (system) out += '\n';
    for (const std::string& name : known) {
      if (!name.starts_with("kube/")) out += fmt::format("#include \"{}\"\n", name);
    }
    return out;
  }

  void WriteMarkers(const std::vector<Marker>& markers, std::string_view indent, std::string& out) {
    for (const Marker& marker : markers) {
      if (const std::optional<std::string> line = WriteMarker(marker)) {
        out += fmt::format("{}// {}\n", indent, *line);
      } else {
        problems_.Error(marker.at, fmt::format("marker +{} has a value that no comment can have", marker.name));
      }
    }
  }

  // The headers that declare what a type names.
  void CollectNames(const Type& type) {
    if (type.element != nullptr) return CollectNames(*type.element);
    if (type.form == TypeForm::kBuiltin) {
      // kube::core::v1::Pod is in kube/api/core/v1.h; kube/kind.h has kube::meta::v1.
      std::string name = type.name.substr(0, type.name.rfind("::"));
      if (name == "kube::meta::v1") return;
      Replace(name, "::", "/");
      includes_.insert("kube/api/" + name.substr(name.find('/') + 1) + ".h");
      return;
    }
    std::size_t file = file_;
    if (const Struct* s = model_.FindStruct(type.name); s != nullptr && type.form == TypeForm::kStruct) file = s->file;
    if (const Alias* alias = model_.FindAlias(type.name); alias != nullptr && type.form == TypeForm::kAlias) file = alias->file;
    if (file == file_) return;
    namespace fs = std::filesystem;
    const fs::path own = fs::path(model_.files[file_].path).parent_path();
    includes_.insert(fs::path(model_.files[file].path).lexically_relative(own.empty() ? "." : own).generic_string());
  }

  std::string Spelling(const Type& type, std::string_view scope) const {
    if (type.element != nullptr) {
      Type outer = type;
      outer.element = nullptr;
      return fmt::format("{}<{}>", outer.Spelling(), Spelling(*type.element, scope));
    }
    const std::string name = type.Spelling();
    const bool near =
        !scope.empty() && name.starts_with(std::string(scope) + "::") && name.find("::", scope.size() + 2) == std::string::npos;
    return near && (type.form == TypeForm::kStruct || type.form == TypeForm::kAlias) ? name.substr(scope.size() + 2) : name;
  }

  // ---- Declarations ----

  // Writes it behind what it needs.
  void Declare(const std::string& qualified) {
    if (!declared_.insert(qualified).second) return;
    const Struct* s = model_.FindStruct(qualified);
    const Alias* alias = s == nullptr ? model_.FindAlias(qualified) : nullptr;
    if (s != nullptr && s->file == file_) {
      for (const Field& field : s->fields) DeclareNeeds(field.type);
      EnterScope(s->scope);
      WriteStruct(*s);
    } else if (alias != nullptr && alias->file == file_) {
      DeclareNeeds(alias->type);
      EnterScope(alias->scope);
      WriteAlias(*alias);
    }
  }
  void DeclareNeeds(const Type& type) {
    if (type.element != nullptr) return DeclareNeeds(*type.element);
    if (type.form == TypeForm::kStruct || type.form == TypeForm::kAlias) Declare(type.name);
  }

  void EnterScope(const std::string& scope) {
    if (scope != scope_ || body_.empty()) {
      if (!scope_.empty()) body_ += fmt::format("\n}}  // namespace {}\n", scope_);
      if (!scope.empty()) body_ += fmt::format("\nnamespace {} {{\n", scope);
      scope_ = scope;
    }
    body_ += '\n';
  }

  void WriteStruct(const Struct& s) {
    WriteComment(s.description, "", body_);
    WriteMarkers(s.markers, "", body_);
    body_ += fmt::format("struct {} {{\n", s.name);
    for (const Field& field : s.fields) WriteField(s, field);
    body_ += fmt::format("{}  KUBE_TABLE({});\n}};\n", s.fields.empty() ? "" : "\n", s.name);
  }

  void WriteField(const Struct& s, const Field& field) {
    WriteComment(field.description, "  ", body_);
    std::vector<Marker> markers;
    if (field.inlined) markers.push_back({.name = "kube:inline"});
    if (!field.inlined && LowerCamel(field.name) != field.json) markers.push_back({.name = "kube:json", .value = field.json});
    for (const Marker& marker : field.markers) {
      if (marker.name != "kube:inline" && marker.name != "kube:json") markers.push_back(marker);
    }
    WriteMarkers(markers, "  ", body_);
    body_ += fmt::format("  {} {}{{}};\n", Spelling(field.type, s.scope), field.name);
  }

  void WriteAlias(const Alias& alias) {
    WriteComment(alias.description, "", body_);
    WriteMarkers(alias.markers, "", body_);
    body_ += fmt::format("using {} = {};\n", alias.name, Spelling(alias.type, alias.scope));
    if (alias.constants.empty()) return;
    constexpr std::string_view kBegin = "inline constexpr std::string_view ";
    std::vector<std::string> constants;
    std::size_t width = kBegin.size();
    std::set<std::string> names;
    for (const std::string& value : alias.constants) {
      constants.push_back(fmt::format("{} = {}", ConstantName(alias, value, names), StringLiteral(value)));
      width += constants.back().size() + 2;
    }
    body_ += kBegin;
    const std::string separator = width <= kColumns ? ", " : ",\n" + std::string(kBegin.size(), ' ');
    body_ += fmt::format("{};\n", fmt::join(constants, separator));
  }

  // A name that the reader gives to this alias and to no other: to the one with the longest name that it begins with.
  std::string ConstantName(const Alias& alias, const std::string& value, std::set<std::string>& taken) const {
    std::string part = TypeNamePart(value);
    if (part.empty()) part = value.empty() ? "Empty" : SymbolNames(value);
    if (alias.name.back() >= '0' && alias.name.back() <= '9' && part[0] >= '0' && part[0] <= '9') part.insert(0, 1, '_');
    std::string name = 'k' + alias.name + part;
    const bool other = std::any_of(model_.aliases.begin(), model_.aliases.end(), [&](const Alias& a) {
      return a.file == file_ && a.scope == alias.scope && a.name.size() > alias.name.size() && name.starts_with('k' + a.name);
    });
    if (other) name = fmt::format("k{}_{}", alias.name, part);
    const std::string first = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", first, i);
    return name;
  }

  static std::string SymbolNames(std::string_view value) {
    static constexpr std::pair<char, std::string_view> kNames[] = {
        {'*', "Star"},   {'!', "Not"},   {'=', "Equals"},   {'~', "Tilde"},   {'<', "Less"},      {'>', "More"}, {'+', "Plus"},
        {'-', "Minus"},  {'/', "Slash"}, {'.', "Dot"},      {'%', "Percent"}, {'&', "And"},       {'|', "Or"},   {'@', "At"},
        {'$', "Dollar"}, {'#', "Hash"},  {'?', "Question"}, {' ', "Space"},   {'_', "Underscore"}};
    std::string out;
    for (char c : value.substr(0, 16)) {
      for (const auto& [symbol, name] : kNames) {
        if (c == symbol) out += name;
      }
    }
    return out.empty() ? "Value" : out;
  }

  static std::string StringLiteral(std::string_view value) {
    std::string out = "\"";
    char before = ' ';
    for (char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (c == '\n') {
        out += "\\n";
      } else if (byte < 0x20 || byte >= 0x7f || (c == '?' && before == '?')) {
        out += fmt::format("\\x{:02x}\" \"", byte);  // digits behind it would belong to it
      } else {
        out += c;
      }
      before = c;
    }
    return out + '"';
  }

  const Model& model_;
  const std::size_t file_;
  Problems& problems_;
  std::set<std::string> declared_, includes_;
  std::string scope_, body_;
};

}  // namespace

std::string WriteHeader(const Model& model, std::size_t file, Problems& problems) { return HeaderWriter(model, file, problems).Run(); }

}  // namespace kube::generate

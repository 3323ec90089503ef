#include "generate/type_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "generate/marker_writer.h"
#include "generate/names.h"

namespace kube::generate {
namespace {

// Parts of a key are texts of any content.
void AddPart(std::string_view part, std::string& key) { key += fmt::format("{}:{}", part.size(), part); }

void AddMarkers(const std::vector<Marker>& markers, std::string& key) {
  for (const Marker& marker : markers) AddPart(WriteMarker(marker).value_or(marker.name), key);
  key += '|';
}

// Calls `change` with every name of a struct or alias in the type.
template <typename Change>
void ChangeNames(Type& type, Change change) {
  if (type.element != nullptr) {
    Type element = *type.element;
    ChangeNames(element, change);
    type.element = std::make_shared<const Type>(std::move(element));
  } else if (type.name.starts_with('#')) {
    change(type.name);
  }
}

// The words of a path, in the singular for the elements of a list: {"Spec", "Port"}.
std::vector<std::string> WordsOf(const SchemaPath& path) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i].element) continue;
    const bool list = i + 1 < path.size() && path[i + 1].element;
    if (std::string word = TypeNamePart(list ? SingularOf(path[i].name) : path[i].name); !word.empty()) out.push_back(std::move(word));
  }
  return out;
}

// Words that say nothing without the one before them.
bool IsGeneric(std::string_view word) {
  static constexpr std::string_view kWords[] = {"Config", "Item", "Metadata", "Option",   "Ref",
                                                "Source", "Spec", "Status",   "Template", "Value"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

}  // namespace

std::string ToString(const SchemaPath& path) {
  std::string out;
  for (const SchemaStep& step : path) {
    if (step.element) {
      out += "[*]";
    } else {
      out += (out.empty() ? "" : ".") + step.name;
    }
  }
  return out;
}

std::size_t TypePool::Index(std::string_view name) {
  std::size_t out = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), out);
  return out;
}

std::string TypePool::AddStruct(Struct s, std::size_t bytes, const std::optional<std::string>& description, const Place& place) {
  std::string key = "struct";
  AddMarkers(s.markers, key);
  for (const Field& field : s.fields) {
    AddPart(field.json, key);
    AddPart(field.type.Spelling(), key);
    AddPart(field.description, key);
    AddMarkers(field.markers, key);
  }
  Entry entry;
  entry.s = std::move(s);
  entry.bytes = bytes;
  return Add(std::move(entry), key, description, place);
}

std::string TypePool::AddAlias(Alias a, const std::optional<std::string>& description, const Place& place) {
  std::string key = "alias";
  // Values that happen to be the same do not make one type of two properties with other names.
  const std::vector<std::string> words = WordsOf(place.path);
  AddPart(words.empty() ? "" : words.back(), key);
  AddPart(a.type.Spelling(), key);
  AddMarkers(a.markers, key);
  for (const std::string& value : a.constants) AddPart(value, key);
  Entry entry;
  entry.alias = true;
  entry.a = std::move(a);
  return Add(std::move(entry), key, description, place);
}

std::string TypePool::Add(Entry entry, const std::string& key, const std::optional<std::string>& description, const Place& place) {
  std::vector<std::size_t>& same = by_key_[key];
  for (std::size_t i : same) {
    Entry& other = entries_[i];
    if (description && other.description && *description != *other.description) continue;
    if (description) other.description = description;
    Use(other, place);
    return fmt::format("#{}", i);
  }
  entry.description = description;
  entry.kind_name = place.kind_name;
  entry.hint = place.hint;
  entry.path = place.path;
  entry.kinds.insert(place.kind);
  same.push_back(entries_.size());
  entries_.push_back(std::move(entry));
  return fmt::format("#{}", entries_.size() - 1);
}

void TypePool::Use(Entry& entry, const Place& place) {
  entry.kinds.insert(place.kind);
  if (entry.hint.empty()) entry.hint = place.hint;
  const bool shorter =
      place.path.size() < entry.path.size() || (place.path.size() == entry.path.size() && place.kind_name.size() < entry.kind_name.size());
  if (!shorter) return;
  entry.path = place.path;
  entry.kind_name = place.kind_name;
}

// What a type of two kinds needs is a type of two kinds. Entries come after what they need.
void TypePool::Spread() {
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Entry& entry = entries_[i];
    const auto spread = [&](Type type) {
      ChangeNames(type, [&](std::string& name) {
        std::set<std::size_t>& kinds = entries_[Index(name)].kinds;
        kinds.insert(entry.kinds.begin(), entry.kinds.end());
      });
    };
    if (entry.alias) spread(entry.a.type);
    for (const Field& field : entry.s.fields) spread(field.type);
  }
}

// The kind and a name that the schema gives itself, or the fewest words of the end of the path that are not taken. The kind is left out of
// what several kinds use; elsewhere two headers that were made on different days might declare the same name.
std::string TypePool::NameOf(const Entry& entry, bool common, std::set<std::string>& taken) {
  const std::vector<std::string> words = WordsOf(entry.path);
  const auto free = [&](const std::string& name) {
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && !IsReservedName(name) && taken.insert(name).second;
  };
  const auto of_kind = [&](const std::string& name) { return name.starts_with(entry.kind_name) ? name : entry.kind_name + name; };
  if (!entry.hint.empty()) {
    if (common && free(entry.hint)) return entry.hint;
    if (std::string name = of_kind(entry.hint); name != entry.kind_name && free(name)) return name;
  }
  const bool root = words.size() < 2;  // spec and status, which every kind has
  std::string tail;
  for (std::size_t n = 1; n <= words.size(); ++n) {
    tail.insert(0, words[words.size() - n]);
    if (n < words.size() && IsGeneric(tail)) continue;
    if (common && !root && free(tail)) return tail;
    std::string name = tail == entry.kind_name ? tail + tail : of_kind(tail);
    if (free(name)) return name;
  }
  for (int i = 2;; ++i) {
    if (std::string name = fmt::format("{}{}{}", entry.kind_name, tail, i); free(name)) return name;
  }
}

void TypePool::Finish(const std::string& scope, std::set<std::string> taken, const std::map<std::size_t, std::size_t>& files,
                      const std::function<std::size_t()>& common, Model& model) {
  Spread();
  std::optional<std::size_t> common_file;
  const auto file_of = [&](const Entry& entry) {
    if (entry.kinds.size() == 1) return files.at(*entry.kinds.begin());
    if (!common_file) common_file = common();
    return *common_file;
  };
  // Short paths first: they have the better claim to a short name.
  std::vector<std::size_t> order(entries_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries_[a].path.size() < entries_[b].path.size(); });
  names_.resize(entries_.size());
  for (std::size_t i : order) names_[i] = scope + "::" + NameOf(entries_[i], entries_[i].kinds.size() > 1, taken);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const std::size_t file = file_of(entry);
    const auto name = [&](auto& declaration) {
      declaration.scope = scope;
      declaration.qualified = names_[i];
      declaration.name = names_[i].substr(scope.size() + 2);
      declaration.file = file;
      declaration.description = entry.description.value_or("");
    };
    if (entry.alias) {
      name(entry.a);
      Rename(entry.a.type);
      model.aliases.push_back(std::move(entry.a));
    } else {
      name(entry.s);
      for (Field& field : entry.s.fields) Rename(field.type);
      model.structs.push_back(std::move(entry.s));
    }
  }
}

void TypePool::Rename(Type& type) const {
  ChangeNames(type, [&](std::string& name) { name = names_[Index(name)]; });
}

}  // namespace kube::generate

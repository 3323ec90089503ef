// The structs and aliases that the schemas of a group and version need. Equal ones are one; in the end each has a name and a file.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generate/model.h"

namespace kube::generate {

// A step of a path in a schema: a property, or with `element` into the items of a list or the values of a map.
struct SchemaStep {
  std::string name;
  bool element = false;
};
using SchemaPath = std::vector<SchemaStep>;
std::string ToString(const SchemaPath& path);  // "spec.ports[*].name"

class TypePool {
 public:
  // Where a type is used.
  struct Place {
    std::size_t kind = 0;  // a number of the caller's
    const std::string& kind_name;
    const SchemaPath& path;
    std::string_view hint;  // a name of a type in C++ that the schema gives itself; may be empty
  };

  // The type with this content, used at this place: "#5", to be renamed. `description`: which one the type has to have; nothing if that of
  // the field stands in its place. The content is that of the struct or alias without name and description.
  std::string AddStruct(Struct s, std::size_t bytes, const std::optional<std::string>& description, const Place& place);
  std::string AddAlias(Alias a, const std::optional<std::string>& description, const Place& place);
  std::size_t BytesOf(std::string_view name) const { return entries_[Index(name)].bytes; }

  // Names all types and adds them to the model, in this namespace. Those that one kind uses go to its file, others to that of `common`,
  // which is called if there are any.
  void Finish(const std::string& scope, std::set<std::string> taken, const std::map<std::size_t, std::size_t>& files,
              const std::function<std::size_t()>& common, Model& model);
  // "#5" becomes "samplecrd::v1::NetworkSpec".
  void Rename(Type& type) const;

 private:
  struct Entry {
    bool alias = false;
    Struct s;
    Alias a;
    std::size_t bytes = 0;
    std::optional<std::string> description;
    std::set<std::size_t> kinds;  // that use it
    std::string kind_name, hint;  // of the shortest path
    SchemaPath path;
  };

  std::string Add(Entry entry, const std::string& key, const std::optional<std::string>& description, const Place& place);
  void Use(Entry& entry, const Place& place);
  void Spread();
  static std::size_t Index(std::string_view name);
  static std::string NameOf(const Entry& entry, bool common, std::set<std::string>& taken);

  std::vector<Entry> entries_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_key_;
  std::vector<std::string> names_;  // qualified, by index
};

}  // namespace kube::generate

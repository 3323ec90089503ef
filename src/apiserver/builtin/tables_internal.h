// Private to the tables: which function prints which kind.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "apiserver/builtin/tables.h"
#include "kube/api/core/v1.h"
#include "kube/meta/v1.h"

namespace kube::apiserver::builtin {

using Cells = std::vector<Value>;

struct TablePrinter {
  TableColumns columns;
  Cells (*row)(const void* object, Time now);
};

class TableRegistry {
 public:
  // `Row` takes the object and the time.
  template <typename T, Cells (*Row)(const T&, Time)>
  void Add(TableColumns columns) {
    printers_[&T::kType] = {std::move(columns), [](const void* object, Time now) { return Row(*static_cast<const T*>(object), now); }};
  }
  const TablePrinter* Find(const TypeInfo* type) const {
    auto found = printers_.find(type);
    return found == printers_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const TypeInfo*, TablePrinter> printers_;
};

void AddCoreTables(TableRegistry& registry);
void AddPodTables(TableRegistry& registry);
void AddWorkloadTables(TableRegistry& registry);
void AddOtherTables(TableRegistry& registry);

// ---- Columns ----
inline TableColumn NameColumn() { return {"Name", "string", "name"}; }
inline TableColumn AgeColumn() { return {"Age", "string"}; }
inline TableColumn Text(std::string_view name, int priority = 0) { return {name, "string", {}, priority}; }
inline TableColumn Number(std::string_view name) { return {name, "integer"}; }
inline TableColumn Flag(std::string_view name) { return {name, "boolean"}; }

// ---- Cells ----
// How long ago; "<unknown>" for the unset time.
std::string Ago(Time t, Time now);
std::string Ago(MicroTime t, Time now);
inline std::string AgeOf(const meta::v1::ObjectMeta& metadata, Time now) { return Ago(metadata.creation_timestamp, now); }
std::string Join(const std::vector<std::string>& words, std::string_view separator = ",");
std::string Join(const List<String>& words, std::string_view separator = ",");
// "a=b,c=d", or "<none>".
std::string PrintLabels(const Map<String>& labels);
std::string PrintSelector(const Box<meta::v1::LabelSelector>& selector);
// `fallback` for an empty text.
inline std::string Or(const String& text, const char* fallback) { return text.empty() ? std::string(fallback) : text.str(); }
inline std::string Or(const std::optional<String>& text, const char* fallback) {
  return text.has_value() ? text->str() : std::string(fallback);
}
std::string ContainerNames(const List<core::v1::Container>& containers);
std::string ContainerImages(const List<core::v1::Container>& containers);
std::string Lower(std::string_view text);
// "a,b,c + 4 more...": at most `max` of `words`.
std::string WithMore(const std::vector<std::string>& words, std::size_t max, const char* if_empty);

}  // namespace kube::apiserver::builtin

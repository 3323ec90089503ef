#include "apiserver/builtin/tables.h"

#include "apiserver/builtin/tables_internal.h"
#include "kube/meta/resource.h"
#include "kube/meta/selector.h"

namespace kube::apiserver {
namespace {

const builtin::TableRegistry& TheRegistry() {
  static const builtin::TableRegistry* const registry = [] {
    auto* r = new builtin::TableRegistry;
    builtin::AddCoreTables(*r);
    builtin::AddPodTables(*r);
    builtin::AddWorkloadTables(*r);
    builtin::AddOtherTables(*r);
    return r;
  }();
  return *registry;
}

// Two units, the second only if it is not zero.
std::string TwoUnits(std::int64_t first, char first_unit, std::int64_t second, char second_unit) {
  std::string out = std::to_string(first) + first_unit;
  if (second != 0) out += std::to_string(second) + second_unit;
  return out;
}

}  // namespace

const TableColumns& ColumnsOf(const TypeInfo* type) {
  static const auto* const plain = new TableColumns{builtin::NameColumn(), {"Created At", "date"}};
  const builtin::TablePrinter* printer = TheRegistry().Find(type);
  return printer == nullptr ? *plain : printer->columns;
}

std::vector<Value> RowOf(const TypeInfo& type, const void* object, Time now) {
  if (const builtin::TablePrinter* printer = TheRegistry().Find(&type)) return printer->row(object, now);
  const meta::v1::ObjectMeta* metadata = MetadataOf(type, object);
  if (metadata == nullptr) return {Value(""), Value()};
  return {metadata->name, metadata->creation_timestamp.IsZero() ? Value() : Value(metadata->creation_timestamp.ToString())};
}

Value RowConditionsOf(const TypeInfo& type, const void* object) {
  if (&type != &core::v1::Pod::kType) return {};
  const String& phase = static_cast<const core::v1::Pod*>(object)->status.phase;
  if (phase != "Succeeded" && phase != "Failed") return {};
  return Value::Array({Value::Object({{"type", "Completed"},
                                      {"status", "True"},
                                      {"reason", phase},
                                      {"message", phase == "Failed" ? "The pod failed." : "The pod has completed successfully."}})});
}

std::string HumanDuration(Duration span) {
  const std::int64_t seconds = span.nanoseconds() / 1'000'000'000;
  if (seconds < -1) return "<invalid>";  // clocks of two machines may differ a little
  if (seconds < 0) return "0s";
  if (seconds < 2 * 60) return std::to_string(seconds) + "s";
  const std::int64_t minutes = seconds / 60;
  if (minutes < 10) return TwoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 3 * 60) return std::to_string(minutes) + "m";
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return TwoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return std::to_string(hours) + "h";
  const std::int64_t days = hours / 24;
  if (hours < 24 * 8) return TwoUnits(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return std::to_string(days) + "d";
  if (hours < 24 * 365 * 8) return TwoUnits(days / 365, 'y', days % 365, 'd');
  return std::to_string(days / 365) + "y";
}

namespace builtin {

std::string Ago(Time t, Time now) { return t.IsZero() ? "<unknown>" : HumanDuration(now - t); }
std::string Ago(MicroTime t, Time now) { return t.IsZero() ? "<unknown>" : HumanDuration(MicroTime(now) - t); }

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += separator;
    out += words[i];
  }
  return out;
}

std::string Join(const List<String>& words, std::string_view separator) {
  std::vector<std::string> copy;
  for (const String& w : words) copy.push_back(w.str());
  return Join(copy, separator);
}

std::string PrintLabels(const Map<String>& labels) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : labels) pairs.push_back(key.str() + "=" + value.str());
  return pairs.empty() ? "<none>" : Join(pairs);
}

std::string PrintSelector(const Box<meta::v1::LabelSelector>& selector) {
  Result<Selector> parsed = Selector::FromLabelSelector(selector);
  if (!parsed) return "<error>";
  std::string text = parsed->ToString();
  return text.empty() ? "<none>" : text;
}

std::string ContainerNames(const List<core::v1::Container>& containers) {
  std::vector<std::string> names;
  for (const auto& c : containers) names.push_back(c.name.str());
  return Join(names);
}

std::string ContainerImages(const List<core::v1::Container>& containers) {
  std::vector<std::string> images;
  for (const auto& c : containers) images.push_back(c.image.str());
  return Join(images);
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string WithMore(const std::vector<std::string>& words, std::size_t max, const char* if_empty) {
  if (words.size() <= max) {
    std::string all = Join(words);
    return all.empty() ? if_empty : all;
  }
  std::vector<std::string> first(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(max));
  return Join(first) + " + " + std::to_string(words.size() - max) + " more...";
}

}  // namespace builtin
}  // namespace kube::apiserver

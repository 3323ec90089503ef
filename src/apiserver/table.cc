#include "apiserver/table.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apiserver/builtin/tables.h"
#include "apiserver/errors.h"
#include "apiserver/json_path.h"
#include "apiserver/pipeline.h"
#include "kube/codec/json.h"
#include "kube/value/any_object.h"

namespace kube::apiserver {
namespace {

// Marks the bookmark that ends the first events of a watch; clients look for it in the object of the row, whatever they asked for.
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

Value ColumnOf(std::string_view name, std::string_view type, std::string_view format, std::string_view description, std::int64_t priority) {
  return Value::Object({{"name", name}, {"type", type}, {"format", format}, {"description", description}, {"priority", priority}});
}

// The columns of a custom resource. A column that cannot be parsed ends the table, as in the real server.
struct CustomColumns {
  std::vector<std::pair<PrinterColumn, JsonPath>> columns;
  bool age_only = false;  // the CRD asks for none

  explicit CustomColumns(const CustomResource& custom) : age_only(custom.columns.empty()) {
    for (const PrinterColumn& column : custom.columns) {
      Result<JsonPath> path = JsonPath::Parse(column.json_path);
      if (!path) break;
      columns.emplace_back(column, *std::move(path));
    }
  }

  Value Definitions() const {
    Value out = Value::Array({ColumnOf("Name", "string", "name", "The name of the object.", 0)});
    if (age_only) out.MutableList().push_back(ColumnOf("Age", "date", "", "The time since the object was created.", 0));
    for (const auto& [column, path] : columns) {
      std::string description = column.description;
      if (description.empty()) description = "Custom resource definition column (in JSONPath format): " + column.json_path;
      out.MutableList().push_back(ColumnOf(column.name, column.type, column.format, description, column.priority));
    }
    return out;
  }

  Value Cells(const Value& object, Time now) const {
    const Value& meta = object["metadata"];
    Value out = Value::Array({meta["name"].string_value()});
    if (age_only) {
      Result<Time> created = Time::Parse(meta["creationTimestamp"].string_value());
      out.MutableList().push_back(AgeOf(created ? *created : Time(), now));
    }
    for (const auto& [column, path] : columns) {
      std::optional<Value> found = path.First(object);
      out.MutableList().push_back(found ? CellOf(column.type, *found, now) : Value());
    }
    return out;
  }
};

Value BuiltinDefinitions(const TypeInfo* type) {
  Value out = Value::Array();
  for (const TableColumn& c : ColumnsOf(type)) {
    out.MutableList().push_back(ColumnOf(c.name, c.type, c.format, c.description, c.priority));
  }
  return out;
}

// `kind` and `apiVersion` as the version of the request has them.
Value ObjectOf(const Value& object, const TableOptions& options) {
  bool marked = object["metadata"]["annotations"].Find(kInitialEventsEnd) != nullptr;
  if (options.include_object == "Object") return object;
  if (options.include_object == "None" && !marked) return {};
  return PartialMetadataOf(object, options.version);
}

}  // namespace

Result<void> CheckIncludeObject(std::string_view include_object) {
  if (include_object.empty() || include_object == "None" || include_object == "Metadata" || include_object == "Object") return {};
  return BadRequest(
      fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: \"{}\": must be 'Metadata', "
                  "'Object', 'None', or empty",
                  include_object));
}

Value TableOf(const ServedResource& resource, std::span<const ObjectPtr> objects, const TableOptions& options) {
  Value out = Value::Object({{"kind", "Table"},
                             {"apiVersion", "meta.k8s.io/" + options.version},
                             {"metadata", Value::Object()},
                             {"columnDefinitions", Value()},
                             {"rows", Value::Array()}});
  std::optional<CustomColumns> custom;
  if (resource.custom) custom.emplace(*resource.custom);
  if (!options.no_headers) out["columnDefinitions"] = custom ? custom->Definitions() : BuiltinDefinitions(resource.type);

  std::vector<Value> rows;
  rows.reserve(objects.size());
  for (const ObjectPtr& stored : objects) {
    std::shared_ptr<const std::string> text = TextFor(resource, *stored);
    Result<Value> parsed = ParseJson(*text);
    if (!parsed) continue;  // the store holds what was encoded
    const Value& object = *parsed;
    Value row = Value::Object();
    if (custom) {
      row["cells"] = custom->Cells(object, options.now);
    } else {
      AnyObject typed(*resource.type);
      if (!DecodeJson(*resource.type, typed.mutable_data(), *text)) continue;
      std::vector<Value> cells = RowOf(*resource.type, typed.data(), options.now);
      row["cells"] = Value(List<Value>(cells.begin(), cells.end()));
      Value conditions = RowConditionsOf(*resource.type, typed.data());
      if (!conditions.is_null()) row["conditions"] = std::move(conditions);
    }
    row["object"] = ObjectOf(object, options);
    if (objects.size() == 1) out["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"];
    rows.push_back(std::move(row));
  }
  out["rows"] = Value(List<Value>(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end())));
  return out;
}

Value PartialMetadataOf(const Value& object, std::string_view version) {
  return Value::Object({{"kind", "PartialObjectMetadata"},
                        {"apiVersion", fmt::format("meta.k8s.io/{}", version)},
                        {"metadata", object["metadata"].is_object() ? object["metadata"] : Value::Object()}});
}

}  // namespace kube::apiserver

// JsonPath: the paths with which CustomResourceDefinitions point into objects (printer columns, scale).
//
//   Result<JsonPath> path = JsonPath::Parse(".status.conditions[?(@.type==\"Ready\")].status");
//   std::optional<Value> status = path->First(object);         // nothing where the object has none
//   Value cell = CellOf("string", *status, now);               // what a column of that type shows
//
// The dialect is that of kubectl and of the real server, with its corners: fields (.a, ['a'], .a\.b), wildcards (.*, [*]), indices and
// ranges ([0], [-1:], [0:4:2]), unions ([0,2]), filters ([?(@.x>1)], [?(@.x)]) and descent (..a). A key in quotes is read as a path of
// its own, so ['a.b'] is .a.b and a dot in a key has to be escaped. What follows a closing brace is text, as in a template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct JsonPathNode;

// A parsed path. Immutable; copies share.
//
// Thread safety: as a const std::string.
class KUBE_EXPORT JsonPath {
 public:
  // Errors: kDecode with what is wrong.
  static Result<JsonPath> Parse(std::string_view path);

  // Everything that the path leads to. A missing field leads to nothing. Errors: where the path does not fit the object, such as an
  // index behind the end of a list, or a filter on what is no list.
  Result<std::vector<Value>> Find(const Value& object) const;
  // The first of them; nothing where there is none and where the path does not fit.
  std::optional<Value> First(const Value& object) const;

 private:
  explicit JsonPath(std::shared_ptr<const std::vector<JsonPathNode>> nodes) : nodes_(std::move(nodes)) {}
  std::shared_ptr<const std::vector<JsonPathNode>> nodes_;
};

// ---- Paths of plain fields: scale and selectableFields ----

// ".spec.replicas" -> {"spec", "replicas"}; the leading dot may be missing.
std::vector<std::string> SplitFieldPath(std::string_view path);
// The value at a path of plain fields; null where a part of it is missing or no object.
const Value* FindField(const Value& object, std::string_view path);
// Makes the objects on the way. False where something on the way is there and no object.
bool SetField(Value& object, std::string_view path, Value value);

// ---- Printing ----

// What a column of this type (string, integer, number, boolean, date) shows for a value; null: an empty cell.
Value CellOf(std::string_view type, const Value& value, Time now);
// A value as text: strings as they are, lists and objects as JSON with HTML characters escaped, "<no value>" for null.
std::string PrintJsonPathValue(const Value& value);
// How long ago, as HumanDuration (builtin/tables.h) has it; "<unknown>" for an unset time.
std::string AgeOf(Time since, Time now);

}  // namespace kube::apiserver

// JsonPath: the paths with which CustomResourceDefinitions point into objects (printer columns, scale).
//
//   Result<JsonPath> path = JsonPath::Parse(".status.conditions[?(@.type==\"Ready\")].status");
//   std::optional<Value> status = path->First(object);         // nullopt if the object has none
//   Value cell = CellOf("string", *status, now);               // the cell of a column of that type
//
// The dialect is that of kubectl and of the real server, corner cases included: fields (.a, ['a'], .a\.b), wildcards (.*, [*]), indices and
// ranges ([0], [-1:], [0:4:2]), unions ([0,2]), filters ([?(@.x>1)], [?(@.x)]) and descent (..a). A quoted key is parsed as a path, so
// ['a.b'] is .a.b, and a dot in a key must be escaped. Text after a closing brace is literal, as in a template.
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

  // Returns everything that the path matches. A missing field matches nothing. Errors: if the path does not fit the object, such as an
  // index beyond the end of a list, or a filter on something other than a list.
  Result<std::vector<Value>> Find(const Value& object) const;
  // The first match; nullopt if there is none or the path does not fit.
  std::optional<Value> First(const Value& object) const;

 private:
  explicit JsonPath(std::shared_ptr<const std::vector<JsonPathNode>> nodes) : nodes_(std::move(nodes)) {}
  std::shared_ptr<const std::vector<JsonPathNode>> nodes_;
};

// ---- Paths of plain fields: scale and selectableFields ----

// ".spec.replicas" -> {"spec", "replicas"}; the leading dot may be missing.
std::vector<std::string> SplitFieldPath(std::string_view path);
// The value at a path of plain fields; null if a part of it is missing or not an object.
const Value* FindField(const Value& object, std::string_view path);
// Creates missing objects on the way. Returns false if something on the way is not an object.
bool SetField(Value& object, std::string_view path, Value value);

// ---- Printing ----

// The cell of a column of this type (string, integer, number, boolean, date); null for an empty cell.
Value CellOf(std::string_view type, const Value& value, Time now);
// A value as text: strings as they are, lists and objects as JSON with HTML characters escaped, "<no value>" for null.
std::string PrintJsonPathValue(const Value& value);
// How long ago, as HumanDuration (builtin/tables.h) has it; "<unknown>" for an unset time.
std::string AgeOf(Time since, Time now);

}  // namespace kube::apiserver

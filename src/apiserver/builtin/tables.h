// Objects as rows of a table: what `kubectl get` shows.
//
//   const TableColumns& columns = ColumnsOf(&Pod::kType);            // Name, Ready, Status, Restarts, Age, ...
//   std::vector<Value> cells = RowOf(Pod::kType, &pod, now);         // "web-1", "1/1", "Running", "0", "5m", ...
//
// Columns with a priority above 0 are for `-o wide`; rows have a cell for each column. Kinds without columns of their own have the name
// and the time of creation.
#pragma once

#include <string_view>
#include <vector>

#include "kube/value/time.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct TableColumn {
  std::string_view name;
  std::string_view type;  // "string", "integer", "boolean", "date"
  std::string_view format = {};
  int priority = 0;
  std::string_view description = {};
};
using TableColumns = std::vector<TableColumn>;

// The columns of any type; null is treated like a kind without columns of its own.
const TableColumns& ColumnsOf(const TypeInfo* type);

// `object` is a struct of `type`.
std::vector<Value> RowOf(const TypeInfo& type, const void* object, Time now);

// The row's `conditions`: a list, or null if it has none. Pods that have ended have one.
Value RowConditionsOf(const TypeInfo& type, const void* object);

// A span of time in at most two units: "45s", "3m20s", "5d"; "<invalid>" if it is negative.
std::string HumanDuration(Duration span);

}  // namespace kube::apiserver

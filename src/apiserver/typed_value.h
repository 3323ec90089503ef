// The operations of server-side apply on a Value and its Schema: the fields it has, the difference of two, merging, and the removal of
// fields.
//
//   FieldSet owned = ToFieldSet(*schema, applied);
//   Comparison changes = CompareTyped(*schema, live, updated);
//
// The functions behave like those of a Go server's field manager, oddities included, so that managedFields come out the same. They take
// values that passed ValidateTyped; others give an undefined result, but never a crash. Cost: linear in the values, except lists with keys,
// which are sorted. Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "apiserver/field_set.h"
#include "apiserver/schema.h"
#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// Fields of the new value compared with the old one. No field is in more than one of the sets.
struct Comparison {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;
  bool IsSame() const { return removed.Empty() && modified.Empty() && added.Empty(); }
};

// Describes in a Go server's words what does not fit the schema: `.spec.foo: field not declared in schema`. Errors: kInvalid.
Result<void> ValidateTyped(const Schema& schema, const Value& value, bool allow_duplicates);

// Every leaf, and every item of a list or a map that is not atomic.
FieldSet ToFieldSet(const Schema& schema, const Value& value);

Comparison CompareTyped(const Schema& schema, const Value& before, const Value& after);

// Merges `config` into `live`. Nothing is removed. Items of lists keep the order of `live` unless `config` orders them otherwise. Errors:
// kInvalid, if a list of `config` has two items with the same keys.
Result<Value> MergeTyped(const Schema& schema, const Value& live, const Value& config);

// Removes the fields and items of `items`. A list or map that loses its last member becomes null.
Value RemoveItems(const Schema& schema, const Value& value, const FieldSet& items);

// The set in terms of a schema in which lists or maps have become atomic since the set was written; nothing if it is the same.
std::optional<FieldSet> ReconcileFieldSet(const Schema& schema, const FieldSet& set);

// The set with every struct field that has members below it added. `schema` may be null.
FieldSet WithNamedFields(const FieldSet& set, const Schema* schema);

// Adds the members that a Go server's structs always have (SchemaField::implied) to a built-in object. Which fields a manager owns depends
// on them. Objects of custom resources are returned unchanged.
Value Complete(const Schema& schema, const Value& value);
// Removes what Complete may have added.
Value Compact(const Schema& schema, const Value& value);

// A value as Go's %v prints the map[string]interface{} that holds it: `map[a:1 b:[x y]]`.
std::string PrintGo(const Value& value);

}  // namespace kube::apiserver

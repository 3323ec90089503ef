// Schema: what server-side apply has to know of a type. One immutable node type for built-in kinds and for custom resources.
//
//   SchemaRef pod = SchemaOf(core::v1::Pod::kType);        // built on first use and kept for the life of the process
//   SchemaRef cr  = structural->ToApplySchema();           // structural_schema.h
//
// A node allows a scalar, a list, a map or several of these ("untyped" values allow all). Structs are maps with named fields.
// Field sets, comparison, merging and pruning (typed_value.h) walk a Value and its Schema together. Schemas of recursive types have
// cycles; values do not, so every walk follows the value.
//
// Thread safety: nodes never change; SchemaOf may be called from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct Schema;
// Keeps the whole graph of nodes alive.
using SchemaRef = std::shared_ptr<const Schema>;

enum class ScalarType : std::uint8_t { kNone, kString, kNumeric, kBoolean, kUntyped };

struct ListSchema {
  const Schema* element = nullptr;
  bool associative = false;       // a set, or a map if there are keys; else atomic
  std::vector<std::string> keys;  // of a list of type map
};

struct SchemaField {
  std::string name;
  const Schema* type = nullptr;
  // If this field is a key of a list item that leaves it out; null if there is none.
  Value default_value;
  // A member that every such object has when a Go server looks at it, even if JSON leaves it out: structs, times and scalars that
  // are no pointers. `implied_value` is what it holds then. See Complete() in typed_value.h.
  bool implied = false;
  Value implied_value;
};

struct MapSchema {
  bool atomic = false;
  std::vector<SchemaField> fields;  // sorted by name; a struct if there are any
  const Schema* element = nullptr;  // of members that are no fields; null: there may be none
  bool untyped_elements = false;    // no fields, and elements of any type

  const SchemaField* Find(std::string_view name) const;
};

struct Schema {
  ScalarType scalar = ScalarType::kNone;
  std::optional<ListSchema> list;
  std::optional<MapSchema> map;
};

// The schema of a built-in kind, or of any other struct with a table. Atomic lists are the default, as in the server's OpenAPI.
SchemaRef SchemaOf(const TypeInfo& type);

// Any value, owned as a whole.
const Schema& UntypedAtomicSchema();
// Any value; maps are owned member by member, lists as a whole. What a CRD without a schema for this place gets.
const Schema& DeducedSchema();
const Schema& StringSchema();

// Nodes that are made together and die together. For builders of schemas.
class SchemaArena {
 public:
  Schema* New();
  // The arena's nodes live as long as the returned reference.
  static SchemaRef Share(std::shared_ptr<SchemaArena> arena, const Schema* root);

 private:
  std::vector<std::unique_ptr<Schema>> nodes_;
};

// Sorts `fields` and drops all but the last of each name.
void SortFields(std::vector<SchemaField>& fields);

}  // namespace kube::apiserver

// The field manager: who owns which field of an object, and server-side apply.
//
//   FieldManagerTarget target{.schema = SchemaOf(apps::v1::Deployment::kType), .api_version = "apps/v1", .kind = "Deployment"};
//   ManagerInfo who{.manager = "kubectl", .now = now};
//   Value stored = UpdateManagedFields(target, live, updated, who);                     // after create, update, JSON/merge/strategic patch
//   Result<Value> applied = ApplyConfiguration(target, live, config, who, force);       // PATCH application/apply-patch+yaml
//
// Both return the object with metadata.managedFields as a real server would store it. Objects go in as the server shows them: built-in
// ones through their tables (Value -> struct -> Value, defaults set), custom ones pruned and defaulted. What ApplyConfiguration returns has
// to go through the same once more; a list or map that lost its last member may be null in it.
//
// Thread safety: pure functions. Cost: a few walks over the objects, plus decoding and encoding all entries.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/field_set.h"
#include "apiserver/schema.h"
#include "kube/base/result.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// Fields that a request through this endpoint can never own, because the endpoint resets them: `status` for a resource with a status
// subresource, `spec` and (some of) `metadata` for that subresource. They and everything below are left out. The dotted form is for
// tables: ResetFields({"spec", "metadata.labels"}).
class ResetFields {
 public:
  ResetFields() = default;
  explicit ResetFields(std::initializer_list<std::string_view> dotted_paths);
  explicit ResetFields(FieldSet set) : set_(std::move(set)) {}
  const FieldSet& set() const { return set_; }
  FieldSet Filter(const FieldSet& set) const { return set_.Empty() ? set : set.RecursiveDifference(set_); }

 private:
  FieldSet set_;
};

// What the built-in resource resets; `subresource` is "", "status", ... Resources without own rules reset nothing.
ResetFields ResetFieldsOf(std::string_view group, std::string_view resource, std::string_view subresource);

// An object in another version of its API.
struct VersionedObject {
  SchemaRef schema;
  Value object;
};
// Converts between versions of one kind. Nothing where the version is not served (any more); its managers are forgotten then.
using VersionConverter = std::function<std::optional<VersionedObject>(const Value& object, std::string_view api_version)>;

struct FieldManagerTarget {
  SchemaRef schema;         // of the version of the request
  std::string api_version;  // "apps/v1"
  std::string kind;         // "Deployment"
  ResetFields reset_fields;
  // Needed where a kind has several versions. Without it, entries of other versions are dropped.
  VersionConverter convert;
};

struct ManagerInfo {
  std::string manager;      // empty: "unknown"
  std::string subresource;  // "status", "scale" or empty
  Time now;
};

// After a create (`live` is null), an update or a patch that is no apply. Takes managedFields of `updated` (as the request has them; of
// `live` for subresources or where the request has none), and gives the changed fields to the manager. `[]` or `[{}]` there clears all
// tracking; it starts again with the next apply. Never fails: an object that does not fit its schema loses its managedFields, as on a
// real server.
Value UpdateManagedFields(const FieldManagerTarget& target, const Value& live, Value updated, const ManagerInfo& who);

// Server-side apply of `config` (as the request has it) to `live` (null: create). Errors, all of kind kApi:
//   400  managedFields in the config, or another apiVersion or kind than the endpoint's
//   409  Conflict, with a cause per field (FieldManagerConflict), unless `force`
//   500  config does not fit the schema: "failed to create typed patch object (ns/name; apps/v1, Kind=Deployment): .spec.x: field not ..."
Result<Value> ApplyConfiguration(const FieldManagerTarget& target, const Value& live, const Value& config, const ManagerInfo& who,
                                 bool force);

// Last step before an update is stored: where it changes nothing but the times of managedFields, gives them back the old times, so that
// the store sees that there is nothing to write.
Value KeepTimestampsIfUnchanged(const Value& live, Value updated);

// Errors: kInvalid, where managedFields cannot be understood (operation, apiVersion, fieldsType, fieldsV1).
Result<void> ValidateManagedFields(const Value& managed_fields);

// ---- Scale ----
// From api_version to the path of the replicas in it ({"apps/v1", ".spec.replicas"}). A version with an empty path has no replicas.
struct ScalePath {
  std::string api_version;
  FieldPath replicas;
};
// managedFields of a Scale object, from those of the object behind it.
Result<Value> ManagedFieldsToScale(const Value& parent_entries, const std::vector<ScalePath>& paths);
// And back, after the Scale was updated; `api_version` is that of the object behind it.
Result<Value> ManagedFieldsFromScale(const Value& parent_entries, const Value& scale_entries, const std::vector<ScalePath>& paths,
                                     std::string_view api_version);

}  // namespace kube::apiserver

// The field manager: field ownership of objects, and server-side apply.
//
//   FieldManagerTarget target{.schema = SchemaOf(apps::v1::Deployment::kType), .api_version = "apps/v1", .kind = "Deployment"};
//   ManagerInfo who{.manager = "kubectl", .now = now};
//   Value stored = UpdateManagedFields(target, live, updated, who);                     // after create, update, JSON/merge/strategic patch
//   Result<Value> applied = ApplyConfiguration(target, live, config, who, force);       // PATCH application/apply-patch+yaml
//
// Both return the object with metadata.managedFields as a real server would store it. Objects are passed in as the server returns them:
// built-in ones through their tables (Value -> struct -> Value, defaults set), custom ones pruned and defaulted. The result of
// ApplyConfiguration must go through the same once more; a list or map that lost its last member may be null in it.
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

// What the built-in resource resets; `subresource` is "", "status", ... Resources without rules of their own reset nothing.
ResetFields ResetFieldsOf(std::string_view group, std::string_view resource, std::string_view subresource);

// An object in another version of its API.
struct VersionedObject {
  SchemaRef schema;
  Value object;
};
// Converts between versions of one kind. Returns nothing if the version is not served (any more); its managers are then dropped.
using VersionConverter = std::function<std::optional<VersionedObject>(const Value& object, std::string_view api_version)>;

struct FieldManagerTarget {
  SchemaRef schema;         // of the version of the request
  std::string api_version;  // "apps/v1"
  std::string kind;         // "Deployment"
  ResetFields reset_fields;
  // Needed if a kind has several versions. Without it, entries of other versions are dropped.
  VersionConverter convert;
};

struct ManagerInfo {
  std::string manager;      // empty: "unknown"
  std::string subresource;  // "status", "scale" or empty
  Time now;
};

// For a create (`live` is null), an update or a patch that is not an apply. Starts from managedFields of `updated` (as in the request;
// those of `live` for subresources or if the request has none), and assigns the changed fields to the manager. `[]` or `[{}]` there clears
// all tracking, which starts again with the next apply. Never fails: an object that does not fit its schema loses its managedFields, as on
// a real server.
Value UpdateManagedFields(const FieldManagerTarget& target, const Value& live, Value updated, const ManagerInfo& who);

// Server-side apply of `config` (as the request has it) to `live` (null: create). Errors, all of kind kApi:
//   400  managedFields in the config, or another apiVersion or kind than the endpoint's
//   409  Conflict, with a cause per field (FieldManagerConflict), unless `force`
//   500  config does not fit the schema: "failed to create typed patch object (ns/name; apps/v1, Kind=Deployment): .spec.x: field not ..."
Result<Value> ApplyConfiguration(const FieldManagerTarget& target, const Value& live, const Value& config, const ManagerInfo& who,
                                 bool force);

// The last step before an update is stored: if it changes only the times of managedFields, restores the old times, so that the store sees
// no change.
Value KeepTimestampsIfUnchanged(const Value& live, Value updated);

// Errors: kInvalid, if managedFields are invalid (operation, apiVersion, fieldsType, fieldsV1).
Result<void> ValidateManagedFields(const Value& managed_fields);

// ---- Scale ----
// From api_version to the path of the replicas in it ({"apps/v1", ".spec.replicas"}). A version with an empty path has no replicas.
struct ScalePath {
  std::string api_version;
  FieldPath replicas;
};
// managedFields of a Scale object, from those of the object behind it.
Result<Value> ManagedFieldsToScale(const Value& parent_entries, const std::vector<ScalePath>& paths);
// The reverse, after the Scale was updated; `api_version` is that of the object behind it.
Result<Value> ManagedFieldsFromScale(const Value& parent_entries, const Value& scale_entries, const std::vector<ScalePath>& paths,
                                     std::string_view api_version);

}  // namespace kube::apiserver

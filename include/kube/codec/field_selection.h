// FieldSelection: which fields of an object are decoded, so that what nobody reads costs neither memory nor time.
//
//   Result<FieldSelection> fields = FieldSelection::Without({"metadata.managedFields", "status.conditions", "spec.containers.env"});
//   Result<Pod> pod = FromProtobuf<Pod>(bytes, {.fields = &*fields});
//
//   FieldSelection::Only({"spec.nodeName", "status.phase"})              // and apiVersion, kind and metadata, which always stay
//   only->And(FieldSelection::WithoutManagedFields())                    // what both keep
//
// A path names members as they stand in JSON, whatever the format that is decoded. Lists are passed through: `spec.containers.env` is the
// env of every container. Keys of maps are names like others; one with dots goes in brackets: `metadata.annotations['a.example.com/b']`.
// In a list of objects (PodList, and what clients list) a selection is about the items.
//
// What is not selected is skipped as raw bytes: never decoded, not checked beyond where it ends, and not kept as an unknown field
// either. The field has its default value then, so an object that was read with a selection must not be written back as a whole.
//
// A selection is made without a type. A path that names no field of what is decoded does nothing, in silence. What a typed object keeps as
// text (RawJson, unknown fields) is kept or dropped as a whole: a path that ends inside of it keeps it.
//
// Thread safety: a value that never changes; copies share it. Cost: skipping a field costs a fraction of decoding it. Objects decoded
// without a selection pay nothing.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"

namespace kube {

namespace internal {
struct SelectionAccess;
struct SelectionNode;
}  // namespace internal

class KUBE_EXPORT FieldSelection {
 public:
  FieldSelection() = default;  // everything

  // All but these. Errors: kInvalid, naming the path, where it is empty or malformed, or names what caches and clients need: apiVersion,
  // kind, metadata as a whole, and its name, namespace, uid, resourceVersion and labels.
  static Result<FieldSelection> Without(std::initializer_list<std::string_view> paths);
  static Result<FieldSelection> Without(const std::vector<std::string>& paths);
  // Only these, and apiVersion, kind and metadata. Without any path: those three alone. Errors: kInvalid, naming a malformed path.
  static Result<FieldSelection> Only(std::initializer_list<std::string_view> paths);
  static Result<FieldSelection> Only(const std::vector<std::string>& paths);
  // managedFields are often half of an object, and only servers and field managers read them.
  static FieldSelection WithoutManagedFields();

  // The fields that both select.
  FieldSelection And(const FieldSelection& other) const;
  // The same for the `items` of a list that is decoded as a Value. Decoders of typed list kinds do this by themselves.
  FieldSelection ForItems() const;

  // True where nothing is left out.
  bool everything() const { return root_ == nullptr; }
  // "everything", "without metadata.managedFields", "only spec.nodeName, status.phase; without metadata.managedFields". The same text for
  // equal selections, however they were made.
  std::string ToString() const;
  friend bool operator==(const FieldSelection& a, const FieldSelection& b) { return a.root_ == b.root_ || a.ToString() == b.ToString(); }

 private:
  friend struct internal::SelectionAccess;
  std::shared_ptr<const internal::SelectionNode> root_;
  explicit FieldSelection(std::shared_ptr<const internal::SelectionNode> root) : root_(std::move(root)) {}
};

}  // namespace kube

// FieldSelection: selects the fields of an object to decode, so that unused fields cost neither memory nor time.
//
//   Result<FieldSelection> fields = FieldSelection::Without({"metadata.managedFields", "status.conditions", "spec.containers.env"});
//   Result<Pod> pod = FromProtobuf<Pod>(bytes, {.fields = &*fields});
//
//   FieldSelection::Only({"spec.nodeName", "status.phase"})              // plus apiVersion, kind and metadata, which are always kept
//   only->And(FieldSelection::WithoutManagedFields())                    // the fields that both keep
//
// A path uses JSON member names, whatever the encoding. Lists are transparent: `spec.containers.env` is the env of every container. Map
// keys are names like others; a key with dots is written in brackets: `metadata.annotations['a.example.com/b']`. For a list of objects
// (PodList, and what clients list) a selection applies to the items.
//
// Fields that are not selected are skipped as raw bytes: they are not decoded, not validated beyond finding their end, and not kept as
// unknown fields. They have their default values, so an object read with a selection must not be written back as a whole.
//
// A selection is independent of a type. A path that matches no field of the decoded type is silently ignored. Parts that a typed object
// keeps as text (RawJson, unknown fields) are kept or dropped as a whole: a path that ends inside such a part keeps it.
//
// Thread safety: an immutable value; copies share it.
// Cost: skipping a field costs a fraction of decoding it. Decoding without a selection costs nothing extra.
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

// A set of fields. Usage and rules are at the top of this file.
class KUBE_EXPORT FieldSelection {
 public:
  FieldSelection() = default;  // selects everything

  // All fields except these. Errors: kInvalid, naming a path that is empty or malformed, or that names a field that caches and clients
  // need: apiVersion, kind, metadata as a whole, and its name, namespace, uid, resourceVersion and labels.
  static Result<FieldSelection> Without(std::initializer_list<std::string_view> paths);
  static Result<FieldSelection> Without(const std::vector<std::string>& paths);
  // Only these fields, plus apiVersion, kind and metadata. Without any path: only those three. Errors: kInvalid, naming a malformed path.
  static Result<FieldSelection> Only(std::initializer_list<std::string_view> paths);
  static Result<FieldSelection> Only(const std::vector<std::string>& paths);
  // All fields except managedFields. These are often half of an object, and only servers and field managers read them.
  static FieldSelection WithoutManagedFields();

  // The fields that both selections keep.
  FieldSelection And(const FieldSelection& other) const;
  // The same selection for the `items` of a list that is decoded as a Value. Decoders of typed lists do this automatically.
  FieldSelection ForItems() const;

  // True if no field is left out.
  bool everything() const { return root_ == nullptr; }
  // "everything", "without metadata.managedFields", "only spec.nodeName, status.phase; without metadata.managedFields". Equal selections
  // have the same text, however they were created.
  std::string ToString() const;
  friend bool operator==(const FieldSelection& a, const FieldSelection& b) { return a.root_ == b.root_ || a.ToString() == b.ToString(); }

 private:
  friend struct internal::SelectionAccess;
  std::shared_ptr<const internal::SelectionNode> root_;
  explicit FieldSelection(std::shared_ptr<const internal::SelectionNode> root) : root_(std::move(root)) {}
};

}  // namespace kube

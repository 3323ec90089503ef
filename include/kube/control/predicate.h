// Predicates: filter the changes that enqueue keys.
//
//   .For({.when = GenerationChanged() || LabelsChanged()})
//   .Owns<Service>({.when = !LabelsChanged() && MatchesLabels("app=web")})
//   .Owns<Pod>({.when = [](const Change<Pod>& change) { return change.object->status.phase == "Failed"; }})
//
// They decide what is queued, not what is cached. They are called on the delivery thread of their watch and must not block.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/cache/object.h"
#include "kube/control/reconcile.h"
#include "kube/meta/selector.h"

namespace kube {

// One change of one object, as delivered by a watch.
template <ObjectType T>
struct Change {
  ChangeKind kind = ChangeKind::kAdded;  // kAdded, kUpdated, kDeleted or kResync
  ObjectKey key{};                       // of the object
  Ptr<T> before{};                       // the old version, for updates
  // The current or last known version. Null if a deletion was missed and no version is known.
  Ptr<T> object{};
  bool initial = false;  // from the initial list
};

// The part of a change that MetaPredicates see.
struct ChangedMeta {
  ChangeKind kind;
  bool initial;
  const meta::v1::ObjectMeta* before;  // null if there is none
  const meta::v1::ObjectMeta* object;  // null if no version is known
};

// A predicate on metadata, which fits every kind. Combine predicates with &&, || and !.
class KUBE_EXPORT MetaPredicate {
 public:
  using Function = std::function<bool(const ChangedMeta&)>;             // returns whether a change passes
  MetaPredicate(Function function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)
  bool operator()(const ChangedMeta& change) const { return function_(change); }

  friend KUBE_EXPORT MetaPredicate operator&&(MetaPredicate a, MetaPredicate b);
  friend KUBE_EXPORT MetaPredicate operator||(MetaPredicate a, MetaPredicate b);
  friend KUBE_EXPORT MetaPredicate operator!(MetaPredicate a);

 private:
  Function function_;
};

// Passes updates that changed the generation: the spec, not the status. Here and below, all other changes pass, except resyncs.
KUBE_EXPORT MetaPredicate GenerationChanged();
// Passes updates that changed anything, which excludes resyncs.
KUBE_EXPORT MetaPredicate ResourceVersionChanged();
// The same for updates that changed the labels, or the annotations.
KUBE_EXPORT MetaPredicate LabelsChanged();
KUBE_EXPORT MetaPredicate AnnotationsChanged();
// Passes if the labels of the old or the new version match. If the selector is invalid, nothing passes and that is logged once.
KUBE_EXPORT MetaPredicate MatchesLabels(std::string_view selector);
// Passes changes of these kinds.
KUBE_EXPORT MetaPredicate OfKind(std::initializer_list<ChangeKind> kinds);

namespace internal {
// The metadata of an object that may be null: a pointer into a struct, a copy for a DynamicObject.
template <ObjectType T>
class MetadataPart {
 public:
  explicit MetadataPart(const T* object) : metadata_(object != nullptr ? &object->metadata : nullptr) {}
  const meta::v1::ObjectMeta* get() const { return metadata_; }

 private:
  const meta::v1::ObjectMeta* metadata_;
};
template <>
class MetadataPart<DynamicObject> {
 public:
  explicit MetadataPart(const DynamicObject* object) {
    if (object != nullptr) metadata_ = object->metadata();
  }
  const meta::v1::ObjectMeta* get() const { return metadata_ ? &*metadata_ : nullptr; }

 private:
  std::optional<meta::v1::ObjectMeta> metadata_{};
};
}  // namespace internal

// A predicate on changes of one kind.
template <ObjectType T>
class Predicate {
 public:
  using Function = std::function<bool(const Change<T>&)>;  // returns whether a change passes
  Predicate() = default;                                   // passes everything
  Predicate(MetaPredicate of_meta)                         // NOLINT(google-explicit-constructor)
      : function_([p = std::move(of_meta)](const Change<T>& change) {
          const internal::MetadataPart<T> before(change.before.get()), object(change.object.get());
          return p({change.kind, change.initial, before.get(), object.get()});
        }) {}
  template <typename F>
  requires std::is_invocable_r_v < bool, F, const Change<T>
  & > Predicate(F function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)

  bool operator()(const Change<T>& change) const { return !function_ || function_(change); }

 private:
  Function function_{};
};

}  // namespace kube

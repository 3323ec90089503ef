// Predicates: which changes of an object a controller wants to hear of.
//
//   .For({.when = GenerationChanged() || LabelsChanged()})
//   .Owns<Service>({.when = !LabelsChanged() && MatchesLabels("app=web")})
//   .Owns<Pod>({.when = [](const Change<Pod>& change) { return change.object->status.phase == "Failed"; }})
//
// They decide what is queued, never what is cached. They are called on the delivery thread of their watch: be quick.
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

// One change of one object, as a watch tells it.
template <ObjectType T>
struct Change {
  ChangeKind kind = ChangeKind::kAdded;  // kAdded, kUpdated, kDeleted or kResync
  ObjectKey key{};
  Ptr<T> before{};       // of updates
  Ptr<T> object{};       // as it is, or was last; null where a deletion was missed and nothing is known
  bool initial = false;  // it was there when the watch began
};

// What a predicate that fits every kind can see.
struct ChangedMeta {
  ChangeKind kind;
  bool initial;
  const meta::v1::ObjectMeta* before;  // null where there is none
  const meta::v1::ObjectMeta* object;
};

// A test of a change that looks at metadata only, and so fits every kind. Combine them with &&, || and !.
class KUBE_EXPORT MetaPredicate {
 public:
  using Function = std::function<bool(const ChangedMeta&)>;
  MetaPredicate(Function function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)
  bool operator()(const ChangedMeta& change) const { return function_(change); }

  friend KUBE_EXPORT MetaPredicate operator&&(MetaPredicate a, MetaPredicate b);
  friend KUBE_EXPORT MetaPredicate operator||(MetaPredicate a, MetaPredicate b);
  friend KUBE_EXPORT MetaPredicate operator!(MetaPredicate a);

 private:
  Function function_;
};

// Updates that changed the generation: the spec, not the status. Everything but updates passes, here and below; resyncs do not.
KUBE_EXPORT MetaPredicate GenerationChanged();
// Updates that changed anything: all but resyncs.
KUBE_EXPORT MetaPredicate ResourceVersionChanged();
KUBE_EXPORT MetaPredicate LabelsChanged();
KUBE_EXPORT MetaPredicate AnnotationsChanged();
// The object, or what it was before an update, has such labels. Errors in the text: nothing passes, and it is logged once.
KUBE_EXPORT MetaPredicate MatchesLabels(std::string_view selector);
// Of one of these.
KUBE_EXPORT MetaPredicate OfKind(std::initializer_list<ChangeKind> kinds);

namespace internal {
// The metadata of an object that may be missing: of a struct where it is, of a DynamicObject as a copy.
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

// A test of changes of one kind of objects.
template <ObjectType T>
class Predicate {
 public:
  using Function = std::function<bool(const Change<T>&)>;
  Predicate() = default;            // everything passes
  Predicate(MetaPredicate of_meta)  // NOLINT(google-explicit-constructor)
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

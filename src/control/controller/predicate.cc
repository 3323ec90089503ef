#include "kube/control/predicate.h"

#include <algorithm>
#include <vector>

#include "kube/base/log.h"

namespace kube {
namespace {

// For updates: whether `differs`. Resyncs do not pass, all else does.
template <typename Differs>
MetaPredicate Changed(Differs differs) {
  return MetaPredicate([differs](const ChangedMeta& change) {
    if (change.kind == ChangeKind::kResync) return false;
    if (change.before == nullptr || change.object == nullptr) return true;
    return differs(*change.before, *change.object);
  });
}

}  // namespace

MetaPredicate operator&&(MetaPredicate a, MetaPredicate b) {
  return MetaPredicate([a = std::move(a), b = std::move(b)](const ChangedMeta& change) { return a(change) && b(change); });
}

MetaPredicate operator||(MetaPredicate a, MetaPredicate b) {
  return MetaPredicate([a = std::move(a), b = std::move(b)](const ChangedMeta& change) { return a(change) || b(change); });
}

MetaPredicate operator!(MetaPredicate a) {
  return MetaPredicate([a = std::move(a)](const ChangedMeta& change) { return !a(change); });
}

MetaPredicate GenerationChanged() {
  return Changed([](const meta::v1::ObjectMeta& a, const meta::v1::ObjectMeta& b) { return a.generation != b.generation; });
}

MetaPredicate ResourceVersionChanged() {
  return Changed([](const meta::v1::ObjectMeta& a, const meta::v1::ObjectMeta& b) { return a.resource_version != b.resource_version; });
}

MetaPredicate LabelsChanged() {
  return Changed([](const meta::v1::ObjectMeta& a, const meta::v1::ObjectMeta& b) { return !(a.labels == b.labels); });
}

MetaPredicate AnnotationsChanged() {
  return Changed([](const meta::v1::ObjectMeta& a, const meta::v1::ObjectMeta& b) { return !(a.annotations == b.annotations); });
}

MetaPredicate MatchesLabels(std::string_view text) {
  Result<Selector> selector = Selector::Parse(text);
  if (!selector) {
    Logger("control").Error(selector.error(), "A predicate rejects everything: its selector is invalid", {{"selector", text}});
    return MetaPredicate([](const ChangedMeta&) { return false; });
  }
  return MetaPredicate([selector = *std::move(selector)](const ChangedMeta& change) {
    return (change.object != nullptr && selector.Matches(change.object->labels)) ||
           (change.before != nullptr && selector.Matches(change.before->labels));
  });
}

MetaPredicate OfKind(std::initializer_list<ChangeKind> kinds) {
  return MetaPredicate([kinds = std::vector<ChangeKind>(kinds)](const ChangedMeta& change) {
    return std::find(kinds.begin(), kinds.end(), change.kind) != kinds.end();
  });
}

}  // namespace kube

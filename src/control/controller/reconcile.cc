#include "kube/control/reconcile.h"

#include <algorithm>

namespace kube {

std::string_view ToString(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kUpdated:
      return "updated";
    case ChangeKind::kDeleted:
      return "deleted";
    case ChangeKind::kResync:
      return "resync";
    case ChangeKind::kExternal:
      return "external";
    case ChangeKind::kRetry:
      return "retry";
    case ChangeKind::kRequeue:
      return "requeue";
  }
  return "unknown";
}

std::string Cause::ToString() const {
  std::string text;
  if (!source.empty()) text.append(source.view()).append(" ").append(object.ToString()).append(" ");
  return text.append(kube::ToString(change));
}

bool Request::Has(ChangeKind change) const {
  return std::any_of(causes.begin(), causes.end(), [&](const Cause& cause) { return cause.change == change; });
}

}  // namespace kube

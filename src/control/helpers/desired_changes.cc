// What a desired-state pass says of itself.
#include <algorithm>
#include <string>

#include "kube/control/desired_state.h"

namespace kube {

using Outcome = ChildChange::Outcome;

std::string_view ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCreated:
      return "created";
    case Outcome::kUpdated:
      return "updated";
    case Outcome::kUnchanged:
      return "unchanged";
    case Outcome::kPruned:
      return "pruned";
    case Outcome::kDeleting:
      return "deleting";
    case Outcome::kConflict:
      return "conflict";
    case Outcome::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string ChildChange::ToString() const {
  std::string out(kube::ToString(outcome));
  out += " " + gvk.kind.str() + " " + key.ToString();
  if (!message.empty()) out += ": " + message;
  if (error) out += ": " + error->ToString();
  out += "\n";
  std::string lines = kube::ToString(diff);
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    out += "  " + lines.substr(start, end - start) + "\n";
    start = end + 1;
  }
  // A write that changed nothing that can be seen needs its reasons to be understood.
  if (outcome == Outcome::kUpdated && diff.empty()) {
    for (const std::string& reason : reasons) out += "  " + reason + "\n";
  }
  return out;
}

std::size_t Changes::Count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(children.begin(), children.end(), [&](const ChildChange& child) { return child.outcome == outcome; }));
}

const ChildChange* Changes::Find(const Gvk& gvk, const ObjectKey& key) const {
  for (const ChildChange& child : children) {
    if (child.gvk == gvk && child.key == key) return &child;
  }
  return nullptr;
}

bool Changes::changed() const { return Count(Outcome::kCreated) + Count(Outcome::kUpdated) + Count(Outcome::kPruned) > 0; }

bool Changes::complete() const { return Count(Outcome::kDeleting) + Count(Outcome::kConflict) + Count(Outcome::kFailed) == 0; }

Result<void> Changes::ToResult() const {
  const ChildChange* worst = nullptr;
  for (const ChildChange& child : children) {
    if (child.outcome == Outcome::kFailed && (worst == nullptr || worst->outcome != Outcome::kFailed)) worst = &child;
    if (child.outcome == Outcome::kConflict && worst == nullptr) worst = &child;
  }
  if (worst == nullptr) return {};
  const std::size_t others = Count(Outcome::kFailed) + Count(Outcome::kConflict) - 1;
  std::string what = worst->gvk.kind.str() + " " + worst->key.ToString();
  if (others > 0) what += " (and " + std::to_string(others) + " more)";
  if (worst->error) return worst->error->WithContext(std::move(what));
  return Error::Invalid("it is left alone: " + worst->message).WithContext(std::move(what));
}

std::string Changes::Summary() const {
  const std::string deleted = owner_deleted ? "the owner is being deleted" : "";
  if (owner_deleted && children.empty()) return deleted;
  std::string out;
  for (const Outcome outcome : {Outcome::kCreated, Outcome::kUpdated, Outcome::kPruned, Outcome::kUnchanged, Outcome::kDeleting,
                                Outcome::kConflict, Outcome::kFailed}) {
    const std::size_t n = Count(outcome);
    if (n == 0) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + std::string(kube::ToString(outcome));
  }
  if (out.empty()) return "nothing to do";
  if (owner_deleted) out = deleted + ": " + out;
  return dry_run ? out + " (dry run)" : out;
}

std::string Changes::ToString() const {
  std::string out;
  for (const ChildChange& child : children) {
    if (child.outcome != Outcome::kUnchanged) out += child.ToString();
  }
  return out;
}

}  // namespace kube

#include "control/access/access_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/client_core.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

Logger Log() { return Logger("control"); }

std::string ResourceOf(const ObservedWrite& write) {
  return write.gvr.resource.str() + (write.subresource.empty() ? "" : "/" + std::string(write.subresource));
}

bool Allows(const AccessNeed& need, const ObservedWrite& write, const std::string& resource) {
  if (!need.path.empty() || need.group != write.gvr.group.view() || need.resource != resource) return false;
  if (std::find(need.verbs.begin(), need.verbs.end(), write.verb) == need.verbs.end()) return false;
  if (!need.name.empty() && write.verb != "create" && need.name != write.key.name.view()) return false;
  return !need.ns || need.ns->empty() || *need.ns == kOwnNamespace || *need.ns == write.key.ns.view();
}

std::string LineToAdd(const ObservedWrite& write, const std::string& resource, const std::optional<Gvr>& own) {
  const std::string verbs = fmt::format("{{\"{}\"}}", write.verb);
  if (own && own->group == write.gvr.group && own->resource == write.gvr.resource && write.subresource == "status") {
    return write.verb == "patch" ? ".MayWriteStatus()" : fmt::format(".MayWriteStatus({})", verbs);
  }
  if (write.kind.empty()) {
    return fmt::format("{}Needs({{.group = \"{}\", .resource = \"{}\", .verbs = {}}})", own ? "." : "manager.", write.gvr.group.view(),
                       resource, verbs);
  }
  const std::string subresource = write.subresource.empty() ? "" : fmt::format("\"{}\"", write.subresource);
  if (own) return fmt::format(".MayWrite<{}>({}{}{})", write.kind, verbs, subresource.empty() ? "" : ", ", subresource);
  return fmt::format("manager.Needs(Need<{}>({}{}{}))", write.kind, verbs, subresource.empty() ? "" : ", \"\", ", subresource);
}

}  // namespace

class AccessAudit::Observer : public WriteObserver {
 public:
  Observer(std::shared_ptr<AccessAudit> audit, std::string who, std::optional<Gvr> own)
      : audit_(std::move(audit)), who_(std::move(who)), own_(std::move(own)) {}
  void Wrote(const ObservedWrite& write) override { audit_->Check(write, who_, own_); }

 private:
  const std::shared_ptr<AccessAudit> audit_;
  const std::string who_;
  const std::optional<Gvr> own_;
};

void AccessAudit::Declare(std::vector<AccessNeed> needs) {
  MutexLock lock(mu_);
  needs_ = std::move(needs);
}

Context AccessAudit::Watch(const Context& ctx, std::string who, std::optional<Gvr> own) {
  return ObserveWrites(ctx, std::make_shared<Observer>(shared_from_this(), std::move(who), std::move(own)));
}

void AccessAudit::Check(const ObservedWrite& write, const std::string& who, const std::optional<Gvr>& own) {
  if (&write.client != client_.get() && write.client.config.host != client_->config.host) return;
  const std::string resource = ResourceOf(write);
  {
    MutexLock lock(mu_);
    if (std::any_of(needs_.begin(), needs_.end(), [&](const AccessNeed& need) { return Allows(need, write, resource); })) return;
    if (!said_.emplace(std::string(write.verb), write.gvr.group.str(), resource).second) return;
  }
  Log().Warn("A write was not declared: the role of --print-rbac does not allow it",
             {{"by", who},
              {"verb", write.verb},
              {"resource", resource + (write.gvr.group.empty() ? "" : "." + write.gvr.group.str())},
              {"object", write.key.ToString()},
              {"add", LineToAdd(write, resource, own)}});
}

}  // namespace kube::internal

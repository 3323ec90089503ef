#include "cache/source.h"

#include <utility>

namespace kube::internal {
namespace {

class ClientSource : public ObjectSource {
 public:
  ClientSource(std::shared_ptr<const ClientCore> core, ResourceTarget target, const ObjectForm& form)
      : core_(std::move(core)), target_(std::move(target)), form_(form) {}

  Result<ListPage> List(const Context& ctx, const ListOptions& options) override {
    std::vector<UndecodableObject> undecodable;
    ListOptions request = options;
    request.undecodable = &undecodable;
    Result<ListPage> page = form_.List(*core_, ctx, target_, request);
    if (page) page->undecodable = std::move(undecodable);
    return page;
  }
  Result<void> CheckVersion(const Context& ctx, const ListOptions& options) override {
    ListOptions request = options;
    request.resource_version_match = "NotOlderThan";
    request.limit = 1;
    // Any object answers the question. With a selector that fits few of them, the server would read many from its disk to find one.
    request.label_selector = {};
    request.field_selector = {};
    Result<ListPage> page = List(ctx, request);
    if (!page) return page.error();
    return {};
  }
  Result<std::unique_ptr<WatchStream>> Watch(const Context& ctx, const WatchOptions& options) override {
    WatchOptions request = options;
    request.skip_undecodable = true;
    return WatchObjects(*core_, ctx, target_, request);
  }

 private:
  const std::shared_ptr<const ClientCore> core_;
  const ResourceTarget target_;
  const ObjectForm& form_;
};

}  // namespace

std::unique_ptr<ObjectSource> MakeClientSource(std::shared_ptr<const ClientCore> core, ResourceTarget target, const ObjectForm& form) {
  return std::make_unique<ClientSource>(std::move(core), std::move(target), form);
}

}  // namespace kube::internal

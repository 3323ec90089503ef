// Fabric: where networks really are. The document's controller asks Neutron, the network service of OpenStack, for the actual state.
#pragma once

#include <kube/base/context.h>
#include <kube/base/mutex.h>
#include <kube/base/result.h>
#include <kube/control/manager.h>
#include <kube/meta/object_key.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

struct FabricNetwork {
  std::string cidr{};
  std::string gateway{};
  friend bool operator==(const FabricNetwork&, const FabricNetwork&) = default;
};

// Thread safety: all functions from any thread.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Nothing if there is no such network.
  virtual kube::Result<std::optional<FabricNetwork>> Get(const kube::Context& ctx, const kube::ObjectKey& key) = 0;
  virtual kube::Result<void> Create(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) = 0;
  virtual kube::Result<void> Update(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) = 0;
  virtual kube::Result<void> Delete(const kube::Context& ctx, const kube::ObjectKey& key) = 0;
};

// Stands in for a network service: a table in memory. It starts empty, so a restarted program creates all networks again.
class MemoryFabric final : public Fabric {
 public:
  kube::Result<std::optional<FabricNetwork>> Get(const kube::Context& ctx, const kube::ObjectKey& key) override;
  kube::Result<void> Create(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) override;
  kube::Result<void> Update(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) override;
  kube::Result<void> Delete(const kube::Context& ctx, const kube::ObjectKey& key) override;

 private:
  kube::Mutex mu_;
  std::map<kube::ObjectKey, FabricNetwork> networks_ KUBE_GUARDED_BY(mu_);
};

// SetupNetworkController with a fabric of the caller's.
kube::Result<void> AddNetworkController(kube::Manager& manager, std::shared_ptr<Fabric> fabric);

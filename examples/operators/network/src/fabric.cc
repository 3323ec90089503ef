#include "src/fabric.h"

using kube::Context;
using kube::MutexLock;
using kube::ObjectKey;
using kube::Result;

Result<std::optional<FabricNetwork>> MemoryFabric::Get(const Context&, const ObjectKey& key) {
  MutexLock lock(mu_);
  const auto found = networks_.find(key);
  return found == networks_.end() ? std::nullopt : std::optional<FabricNetwork>(found->second);
}

Result<void> MemoryFabric::Create(const Context&, const ObjectKey& key, const FabricNetwork& network) {
  MutexLock lock(mu_);
  if (!networks_.emplace(key, network).second) return kube::Error::Invalid("network " + key.ToString() + " exists");
  return {};
}

Result<void> MemoryFabric::Update(const Context&, const ObjectKey& key, const FabricNetwork& network) {
  MutexLock lock(mu_);
  const auto found = networks_.find(key);
  if (found == networks_.end()) return kube::Error::Invalid("network " + key.ToString() + " does not exist");
  found->second = network;
  return {};
}

Result<void> MemoryFabric::Delete(const Context&, const ObjectKey& key) {
  MutexLock lock(mu_);
  networks_.erase(key);
  return {};
}

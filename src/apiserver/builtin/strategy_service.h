// The allotment of a service's addresses and ports; part of strategy.h.
#pragma once

#include "apiserver/builtin/service_allocator.h"
#include "kube/api/core/v1.h"
#include "kube/base/result.h"

namespace kube::apiserver::builtin {

Result<void> PrepareServiceCreate(core::v1::Service& service, ServiceAllocation* allocation);
Result<void> PrepareServiceUpdate(core::v1::Service& service, const core::v1::Service& old, ServiceAllocation* allocation);
// Every address and port that the service holds.
std::vector<std::string> AddressesOf(const core::v1::Service& service);
std::vector<int> NodePortsOf(const core::v1::Service& service);

}  // namespace kube::apiserver::builtin

// The rules for clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy of a service: checked before addresses are allotted, and again with
// the rest of the service.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/errors.h"
#include "kube/api/core/v1.h"

namespace kube::apiserver::builtin {

bool IsIpv4(std::string_view text);
bool IsIpv6(std::string_view text);

std::vector<FieldError> ValidateServiceAddresses(const core::v1::Service& service, const core::v1::Service* old);

}  // namespace kube::apiserver::builtin

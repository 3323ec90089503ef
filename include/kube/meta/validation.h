// The rules for names, label keys and label values, as the API server has them.
//
// Each function succeeds, or says what is wrong with the text (kind kInvalid). Checking on this side gives an error before the request
// is sent; the server checks again.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/base/result.h"

namespace kube {

inline constexpr std::size_t kMaxLabelNameLength = 63;  // the name part of a key, and a value
inline constexpr std::size_t kMaxDnsLabelLength = 63;
inline constexpr std::size_t kMaxDnsSubdomainLength = 253;

// Namespaces, and names that become a part of a host name: "web-1". Lower case letters, digits and '-', an alphanumeric at both ends.
KUBE_EXPORT Result<void> ValidateDnsLabel(std::string_view text);
// Most object names: one or more DNS labels (without their length limit) with dots between, at most 253 bytes.
KUBE_EXPORT Result<void> ValidateDnsSubdomain(std::string_view text);
// Label and annotation keys, finalizers, condition types: a name of at most 63 letters, digits, '-', '_' and '.', with an alphanumeric
// at both ends; in front of it optionally a DNS subdomain and a '/': "example.com/role".
KUBE_EXPORT Result<void> ValidateLabelKey(std::string_view key);
// Empty, or as the name part of a key.
KUBE_EXPORT Result<void> ValidateLabelValue(std::string_view value);

}  // namespace kube

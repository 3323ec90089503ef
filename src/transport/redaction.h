// Removes secrets from exchanges before they are logged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/transport/http.h"

namespace kube::internal {

inline constexpr std::string_view kMasked = "<masked>";

// The loggable part of a header value: the scheme of Authorization, nothing of other secret headers.
std::string MaskHeader(std::string_view name, std::string_view value);
// "Name: value" for each, masked.
std::vector<std::string> MaskHeaders(const HttpHeaders& headers);
// The target with the values of query parameters that carry tokens masked.
std::string MaskTarget(std::string_view target);

// Whether the bodies of an exchange contain secrets: by its path (Secrets, TokenRequests, TokenReviews) ...
bool IsSecretTarget(std::string_view target);
// ... or by the kind that the body declares, for any path.
bool IsSecretText(std::string_view body);

// A body for a log: cut at `limit` bytes, "<masked>" if secret, "<binary, n bytes>" if not text. `secret`: the result of IsSecretTarget.
std::string ShowBody(std::string_view body, bool secret, std::size_t limit);

}  // namespace kube::internal

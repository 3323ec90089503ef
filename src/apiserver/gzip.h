#pragma once

#include <string>
#include <string_view>

namespace kube::apiserver {

// The text in gzip form, fast rather than small.
std::string Gzip(std::string_view text);

}  // namespace kube::apiserver

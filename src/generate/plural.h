// The plural of a kind, for the name of its resource.
#pragma once

#include <string>
#include <string_view>

namespace kube::generate {

// In lower case: "networks" of "Network", "policies" of "Policy", "networkpolicies" of "NetworkPolicy".
std::string PluralOf(std::string_view kind);

}  // namespace kube::generate

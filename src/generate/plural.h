// The plural of a kind, for the name of its resource.
#pragma once

#include <string>
#include <string_view>

namespace kube::generate {

// In lower case: "networks" of "Network", "networkpolicies" of "NetworkPolicy", "spectra" of "Spectrum".
//
// Follows the rules of flect 1.0, the library that controller-gen and kubebuilder take plurals from, so that a kind has the same resource
// there. They are rough: "Beta" and "Price" count as plurals, and stay as they are. What flect gets wrong by mistake is not followed:
// "octupuses", "dnsdnses" for a kind Dns, -bulae for all words in -ula.
std::string PluralOf(std::string_view kind);

}  // namespace kube::generate

// Identity of this process: the host's name, and a unique name.
#pragma once

#include <string>

namespace kube::internal {

// "unknown" if the system does not say.
std::string HostName();
// A random one, version 4, in lower case.
std::string NewUuid();

}  // namespace kube::internal

// Who this process is: the host's name, and a name of its own.
#pragma once

#include <string>

namespace kube::internal {

// "unknown" where the system does not say.
std::string HostName();
// A random one, version 4, in lower case.
std::string NewUuid();

}  // namespace kube::internal

#pragma once

#include <string>

#include "kube/base/result.h"

namespace kube::app {

// Writes a file that only this user can read, also where it was there before: it holds credentials.
Result<void> WriteSecretFile(const std::string& path, const std::string& text);

}  // namespace kube::app

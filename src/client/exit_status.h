// How a command ended, as the error channel of exec and attach says it.
#pragma once

#include <string_view>

#include "kube/base/result.h"

namespace kube::internal {

// From the JSON of a Status: 0 for success; the exit code of a command that ran. Errors: kApi with the server's words where it did not run;
// kTransport (Protocol) for what is no Status, or one of a failure that says nothing.
Result<int> ParseExitStatus(std::string_view text);

}  // namespace kube::internal

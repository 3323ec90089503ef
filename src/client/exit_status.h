// The result of a command, from the error channel of exec and attach.
#pragma once

#include <string_view>

#include "kube/base/result.h"

namespace kube::internal {

// Parses the JSON of a Status: 0 for success, else the exit code of the command. Errors: kApi with the server's message if the command did
// not run; kTransport (Protocol) if the text is not a Status, or is a failure without details.
Result<int> ParseExitStatus(std::string_view text);

}  // namespace kube::internal

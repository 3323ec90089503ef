// Runs a program to its end and takes what it prints.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"

namespace kube::internal {

// As a shell finds it: a command with a slash is a path, any other is looked for in $PATH; parts of $PATH that are no absolute path are
// passed over. Nothing where there is no such program.
KUBE_EXPORT std::optional<std::string> FindProgram(const std::string& command);

struct ProgramOptions {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // added to this process's
  int stdin_fd = -1;                     // -1: /dev/null
  int stderr_fd = 2;
  bool foreground = false;  // stays in this process's group, so that it may read from the terminal
  std::size_t max_output = 0;
};

struct ProgramEnd {
  SecretString output;
  bool too_much = false;  // more than max_output; it was killed
  ProcessExit exit;
};

// Blocking: until the program ends or the context stops, which kills it. Errors: kConfig where it cannot be run, kInternal where the system
// has no process or pipe for us, and what the context gives.
KUBE_EXPORT Result<ProgramEnd> RunProgram(const Context& ctx, const ProgramOptions& options);

}  // namespace kube::internal

// Runs a program until it exits and captures its output.
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

// Finds a program as a shell does: a command with a slash is a path, any other is searched in $PATH. Entries of $PATH that are not absolute
// are skipped. Nothing if there is no such program.
KUBE_EXPORT std::optional<std::string> FindProgram(const std::string& command);

struct ProgramOptions {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // added to this process's
  int stdin_fd = -1;                     // -1: /dev/null
  int stderr_fd = 2;
  bool foreground = false;  // keeps it in the process group of this process, so that it may read from the terminal
  std::size_t max_output = 0;
};

struct ProgramEnd {
  SecretString output;
  bool too_much = false;  // the output exceeded max_output, and the program was killed
  ProcessExit exit;
};

// Blocking: until the program ends or the context stops, which kills it.
// Errors: kConfig if it cannot be run, kInternal if the system has no process or pipe left; those of the context.
KUBE_EXPORT Result<ProgramEnd> RunProgram(const Context& ctx, const ProgramOptions& options);

}  // namespace kube::internal

// Runs a kubexx program with --print-manifests and captures its output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/base/result.h"

namespace kube::app {

// `program` is a path, or a name in $PATH. Its errors go to this process's standard error. Blocking: until the program ends, or is killed
// after `timeout`: a program that does not support the flag may run indefinitely.
Result<std::string> PrintManifests(const std::string& program, const std::vector<std::string>& arguments,
                                   std::chrono::nanoseconds timeout = std::chrono::seconds(60));

}  // namespace kube::app

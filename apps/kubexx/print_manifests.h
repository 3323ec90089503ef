// Runs a program of kubexx for what it prints with --print-manifests.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/base/result.h"

namespace kube::app {

// `program`: a path, or a name that $PATH has. Its errors go to this process's standard error.
// Blocking: until the program ends; `timeout` at most, then it is killed: one that does not know the flag may run indefinitely.
Result<std::string> PrintManifests(const std::string& program, const std::vector<std::string>& arguments,
                                   std::chrono::nanoseconds timeout = std::chrono::seconds(60));

}  // namespace kube::app

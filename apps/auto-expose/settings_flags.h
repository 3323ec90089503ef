// The flags of auto-expose's own; those that all controllers have are kube::ManagerFlags.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/base/result.h"
#include "settings.h"

namespace auto_expose {

struct ProgramFlags {
  Settings settings{};
  int workers = 4;
  std::chrono::nanoseconds resync = std::chrono::hours(10);
  bool dry_run = false;
  std::vector<std::string> files{};  // of `plan`
};

// Takes what it knows out of the arguments, and gives back the others. Errors: kInvalid, naming the flag and what it may be.
kube::Result<std::vector<std::string>> ParseFlags(const std::vector<std::string>& arguments, ProgramFlags& flags);
// A line for each flag, in groups.
std::string FlagsHelp();

}  // namespace auto_expose

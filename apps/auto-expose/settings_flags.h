// The flags specific to auto-expose. Those common to all controllers are in kube::ManagerFlags.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/base/result.h"
#include "kube/control/manager_flags.h"
#include "settings.h"

namespace auto_expose {

struct ProgramFlags {
  Settings settings{};
  int workers = 4;
  std::chrono::nanoseconds resync = std::chrono::hours(10);
  bool dry_run = false;
  std::vector<std::string> command{};  // empty, or {"plan"}
  std::vector<std::string> files{};    // of `plan`
};

// Adds a flag for each setting to those that all controllers have.
void AddFlags(kube::ManagerFlags& flags, ProgramFlags& to);
// Parses with these flags and checks combinations. Errors: as ManagerFlags::Parse; `manager` and `flags` are unchanged then.
kube::Result<void> ParseFlags(kube::ManagerFlags& manager, const std::vector<std::string>& arguments, ProgramFlags& flags);

}  // namespace auto_expose

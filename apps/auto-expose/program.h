// The auto-expose program: its commands, flags and exit codes. Separate from main.cc so that tests can call it.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace auto_expose {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Returns 0, 1 after a failure, or 2 for invalid arguments. `environment`: "NAME=value" each; unset for that of the process.
int RunProgram(const std::vector<std::string>& arguments, const std::optional<std::vector<std::string>>& environment, Streams io);

}  // namespace auto_expose

// auto-expose as a program: its commands, flags and exit codes. Apart from main.cc so that tests can call it.
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

// 0, 1 where something failed, 2 for arguments that make no sense. `environment`: "NAME=value" each; without it, the process's.
int RunProgram(const std::vector<std::string>& arguments, const std::optional<std::vector<std::string>>& environment, Streams io);

}  // namespace auto_expose

// auto-expose as a program: its commands, flags and exit codes. Apart from main.cc so that tests can call it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "arguments.h"

namespace auto_expose {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// 0, 1 where something failed, 2 for arguments that make no sense.
int RunProgram(std::vector<std::string> arguments, const Environment& environment, Streams io);

}  // namespace auto_expose

// Where settings come from: the command line, then the environment, then a file.
//
//   auto-expose --domain example.com            # a flag
//   AUTO_EXPOSE_DOMAIN=example.com auto-expose  # the same; '-' becomes '_'
//   auto-expose --config auto-expose.yaml       # the same, with `domain: example.com` in the file; lists for what may come several times
//
// A flag of the command line replaces what the environment and the file say about it, the environment what the file says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"

namespace auto_expose {

struct Environment {
  // "NAME=value" each, as in environ.
  std::vector<std::string> variables{};
  static Environment OfProcess();
};

// The command line, with what environment and file add to it, as flags "--name=value". Errors: kInvalid, naming the file and the place.
kube::Result<std::vector<std::string>> AllArguments(std::vector<std::string> command_line, const Environment& environment);

}  // namespace auto_expose

// Printable: makes text from a cluster safe to display. Any user who may create an object controls its annotations, and so the messages
// that quote them; control sequences in them would reach the terminal, and a line break would forge a line.
//
//   std::cout << pod.metadata.name.str() << ": " << Printable(condition.message) << "\n";
//
// Control characters, invalid UTF-8 and text-direction marks are escaped (\n, \x1b, \u202e), as in logs. Everything else is unchanged,
// including backslashes, so the result is for display, not for parsing.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/export.h"

namespace kube {

// Returns `text` with everything above escaped, line breaks included.
KUBE_EXPORT std::string Printable(std::string_view text);
// Keeps line breaks. For text of several lines whose parts cannot contain any.
KUBE_EXPORT std::string PrintableLines(std::string_view text);

}  // namespace kube

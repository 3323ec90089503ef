// Printable: text from a cluster, as a program shows it to people. Whoever may create an object chooses its annotations and with them what
// messages quote; a terminal obeys the control sequences in them, and a line break forges a line.
//
//   std::cout << pod.metadata.name.str() << ": " << Printable(condition.message) << "\n";
//
// Control characters, bytes that are not UTF-8 and marks of text direction become escapes (\n, \x1b, \u202e), as in logs. Everything else
// stays, backslashes included, so the result is for reading, not for parsing.
//
// Thread safety: functions of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/export.h"

namespace kube {

KUBE_EXPORT std::string Printable(std::string_view text);
// Keeps line breaks: for texts of several lines whose parts cannot contain any.
KUBE_EXPORT std::string PrintableLines(std::string_view text);

}  // namespace kube

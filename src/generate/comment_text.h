// What a comment says: the description for people, and the marker lines for the generator.
//
// The text follows controller-gen's rules, so that the same comment makes the same description: markers are left out, a line that begins
// with TODO is left out, `---` ends the text, and line breaks are kept. Inside of ``` fences nothing is left out. (Go makes one of several
// empty lines; here they stay, since some projects edit the descriptions of their CRDs, and headers made from these say the same.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/tokens.h"

namespace kube::generate {

// The text of a line comment without `//`, `///` or `//!` and surrounding spaces, if it is a marker: "+optional". Otherwise empty.
std::string_view MarkerText(const Comment& comment);

// The description that a group of adjacent comments makes.
std::string DescriptionOf(const std::vector<const Comment*>& group);

}  // namespace kube::generate

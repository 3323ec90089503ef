// The members of an object that its table does not know, one by one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/raw.h"

namespace kube::internal {

struct UnknownMember {
  std::string name{};       // without escapes
  std::string_view text{};  // `"name":value` as it is kept
  std::string_view value{};
};

// In their order; of several with one name the last. Views of `unknown`.
std::vector<UnknownMember> MembersOf(const UnknownFields& unknown);

// From names to values as compact JSON; an empty value stands for none.
using MemberChanges = std::map<std::string, std::string, std::less<>>;
void SetMembers(UnknownFields& unknown, const MemberChanges& changes);

}  // namespace kube::internal

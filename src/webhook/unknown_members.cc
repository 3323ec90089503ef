#include "webhook/unknown_members.h"

#include <cstddef>

#include "codec/json_tokens.h"
#include "codec/json_writer.h"

namespace kube::internal {

std::vector<UnknownMember> MembersOf(const UnknownFields& unknown) {
  std::vector<UnknownMember> all;
  const std::string_view text = unknown.json();
  JsonTokens tokens;
  if (text.empty() || !tokens.Load(text, JsonTokens::BadBytes::kAsTheyAre)) return all;
  std::map<std::string, std::size_t, std::less<>> last;
  // Decoders checked the text: name, colon, value, comma.
  while (!tokens.AtEnd()) {
    const std::uint32_t first = tokens.pos;
    const std::string_view name = tokens.Token(first);
    const std::uint32_t value = first + 2;
    if (name.size() < 2 || name[0] != '"' || value >= tokens.count()) break;
    const std::uint32_t end = tokens.Skip(value);
    if (end > tokens.count()) break;
    UnknownMember member{.text = tokens.Span(first, end - 1), .value = tokens.Span(value, end - 1)};
    if (!Unescape(name.substr(1, name.size() - 2), member.name)) break;
    last[member.name] = all.size();
    all.push_back(std::move(member));
    tokens.pos = end + 1;
  }
  if (last.size() == all.size()) return all;
  std::vector<UnknownMember> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (last[all[i].name] == i) out.push_back(std::move(all[i]));
  }
  return out;
}

void SetMembers(UnknownFields& unknown, const MemberChanges& changes) {
  if (changes.empty()) return;
  MemberChanges left = changes;
  std::string text;
  JsonWriter writer(text, 0);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    writer.Name(name);
    writer.Raw(value);
  };
  for (const UnknownMember& member : MembersOf(unknown)) {
    const auto change = left.find(member.name);
    if (change == left.end()) {
      writer.RawMembers(member.text);
    } else {
      add(change->first, change->second);
      left.erase(change);
    }
  }
  for (const auto& [name, value] : left) add(name, value);
  if (text.empty()) {
    unknown.clear();
  } else {
    unknown.set_json(text);
  }
}

}  // namespace kube::internal

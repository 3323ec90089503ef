// The tree behind FieldSelection. A decoder walks it along with the object; a null node means that all below is wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/codec/field_selection.h"
#include "kube/codec/options.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::internal {

struct SelectionNode {
  struct Member {
    std::string name;
    bool keep = true;
    std::shared_ptr<const SelectionNode> inside;  // null: all of it
  };
  struct Found {
    bool keep = true;
    const SelectionNode* inside = nullptr;
  };

  SelectionNode(bool only_named, std::vector<Member> sorted);

  const bool only;                    // members that are not named: true: dropped, false: kept
  const std::vector<Member> members;  // sorted by name; none that says what `only` says already
  // Never 0, and of no other node of this process: part of the interner's keys, as equal bytes decode to different things under
  // different nodes.
  const std::uint64_t id;

  Found Find(std::string_view name) const {
    for (const Member& member : members) {
      if (member.name == name) return {member.keep, member.inside.get()};
    }
    return {!only, nullptr};
  }
};

struct SelectionAccess {
  // Returns null if everything is selected.
  static const SelectionNode* RootOf(const FieldSelection& fields) { return fields.root_.get(); }
};

// The root for one call of a decoder: in a list kind a selection is about the items.
inline FieldSelection SelectionFor(const TypeInfo& type, const DecodeOptions& options) {
  if (options.fields == nullptr || options.fields->everything()) return {};
  return type.kind != nullptr && type.kind->is_list ? options.fields->ForItems() : *options.fields;
}

// Takes what is not wanted out of a value that is there already.
void ApplySelection(const SelectionNode& node, Value& value);

}  // namespace kube::internal

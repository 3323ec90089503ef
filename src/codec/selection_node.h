// The tree of a FieldSelection. A decoder walks it together with the object; a null node selects everything below.
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
    std::shared_ptr<const SelectionNode> inside;  // null: everything
  };
  struct Found {
    bool keep = true;
    const SelectionNode* inside = nullptr;
  };

  SelectionNode(bool only_named, std::vector<Member> sorted);

  const bool only;                    // members that are not listed: true: dropped, false: kept
  const std::vector<Member> members;  // sorted by name; without members that only repeat `only`
  // Never 0, and unique in this process. Part of the interner's keys, because equal bytes decode differently under different nodes.
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

// The root for one call of a decoder: for a list kind a selection applies to the items.
inline FieldSelection SelectionFor(const TypeInfo& type, const DecodeOptions& options) {
  if (options.fields == nullptr || options.fields->everything()) return {};
  return type.kind != nullptr && type.kind->is_list ? options.fields->ForItems() : *options.fields;
}

// Removes the parts of an existing value that are not selected.
void ApplySelection(const SelectionNode& node, Value& value);

}  // namespace kube::internal

// FieldSet: a set of field paths, as managedFields holds them, and FieldsV1, its JSON form.
//
//   Result<FieldSet> owned = FieldSet::FromFieldsV1(*ParseJson(R"({"f:spec":{"f:replicas":{}}})"));
//   owned->Insert({PathElement::Field("metadata"), PathElement::Field("labels")});
//   Value json = owned->ToFieldsV1();
//
// A path is a list of elements: a field of an object (f:), an item of a list by its keys (k:), by its value (v:) or by its index (i:).
// A set is a tree: `members` are the paths that end here, `children` hold longer ones. A parent need not be a member for its child to
// be one; FieldsV1 says that it is with a "." among the children.
//
// Thread safety: as std::vector. Nothing here blocks. Depth is bounded by that of the JSON that a set comes from (kMaxDecodeDepth).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// The order in which a Go server sorts values: numbers (by amount), strings, booleans, lists, maps, null.
int CompareValues(const Value& a, const Value& b);

class PathElement {
 public:
  enum class Kind : std::uint8_t { kField, kKey, kValue, kIndex };  // in the order in which they are sorted

  static PathElement Field(std::string_view name) { return PathElement(Kind::kField, Value(name)); }
  // `keys`: an object from key fields to values.
  static PathElement Key(Value keys) { return PathElement(Kind::kKey, std::move(keys)); }
  static PathElement OfValue(Value value) { return PathElement(Kind::kValue, std::move(value)); }
  static PathElement Index(std::int64_t index) { return PathElement(Kind::kIndex, Value(index)); }

  // Reads "f:name", `k:{"name":"x"}`, `v:"x"`, "i:0". Errors: kDecode. An element of an unknown kind ("z:...") is not an error here but
  // to be skipped: then `*unknown` is set.
  static Result<PathElement> Parse(std::string_view text, bool* unknown);
  // The same text as a Go server writes, HTML escapes included.
  std::string Serialize() const;
  // For people: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
  std::string ToString() const;

  Kind kind() const { return kind_; }
  std::string_view name() const { return value_.string_value().view(); }  // of kField
  const Value& value() const { return value_; }

  friend int Compare(const PathElement& a, const PathElement& b) {
    if (a.kind_ != b.kind_) return a.kind_ < b.kind_ ? -1 : 1;
    return a.CompareSameKind(b);
  }
  friend bool operator==(const PathElement& a, const PathElement& b) { return Compare(a, b) == 0; }
  friend bool operator<(const PathElement& a, const PathElement& b) { return Compare(a, b) < 0; }

 private:
  PathElement(Kind kind, Value value) : value_(std::move(value)), kind_(kind) {}
  int CompareSameKind(const PathElement& other) const;

  Value value_;
  Kind kind_;
};

using FieldPath = std::vector<PathElement>;
// `.spec.containers[name="web"].image`
std::string PathToString(const FieldPath& path);

struct FieldSetNode;

class FieldSet {
 public:
  // Out of line: the nodes of a set hold sets.
  FieldSet();
  FieldSet(std::initializer_list<FieldPath> paths);
  FieldSet(const FieldSet& other);
  FieldSet(FieldSet&& other) noexcept;
  FieldSet& operator=(const FieldSet& other);
  FieldSet& operator=(FieldSet&& other) noexcept;
  ~FieldSet();

  // Unknown kinds of elements are dropped. Errors: kDecode, if `json` is not FieldsV1.
  static Result<FieldSet> FromFieldsV1(const Value& json);
  Value ToFieldsV1() const;
  // The text in the order in which a Go server writes it, which differs from that of a Value only among list items.
  std::string ToFieldsV1Text() const;

  // Adds the path without its parents. Ignores the empty path.
  void Insert(const FieldPath& path);
  bool Has(const FieldPath& path) const;
  bool HasMember(const PathElement& element) const;
  // What is below an element; null if there is nothing.
  const FieldSet* Child(const PathElement& element) const;

  bool Empty() const;
  std::size_t Size() const;

  FieldSet Union(const FieldSet& other) const;
  FieldSet Intersection(const FieldSet& other) const;
  // Paths of this set that are not in the other one. Children of a path in the other one stay.
  FieldSet Difference(const FieldSet& other) const;
  // Like Difference, and also drops what is below each path of the other set.
  FieldSet RecursiveDifference(const FieldSet& other) const;

  // Members before children, each in order.
  void ForEach(const std::function<void(const FieldPath&)>& visit) const;

  friend bool operator==(const FieldSet& a, const FieldSet& b);

  const std::vector<PathElement>& members() const { return members_; }
  const std::vector<FieldSetNode>& children() const { return children_; }

  // For builders: the same as Insert, one level at a time.
  void InsertMember(const PathElement& element);
  FieldSet& Descend(const PathElement& element);

 private:
  // Sorted.
  std::vector<PathElement> members_;
  std::vector<FieldSetNode> children_;

  void ForEach(FieldPath& prefix, const std::function<void(const FieldPath&)>& visit) const;
  void WriteText(bool self, std::string& out) const;
};

struct FieldSetNode {
  PathElement element;
  FieldSet set;
};

// Go's %q and JSON string forms, for messages and path elements.
std::string QuoteGo(std::string_view text);
std::string QuoteJson(std::string_view text, bool escape_html);
// A value as a Go server shows it in a path: strings quoted, numbers plain.
std::string PathValueToString(const Value& value);

}  // namespace kube::apiserver

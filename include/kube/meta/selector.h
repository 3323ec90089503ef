// Label selectors: select objects by their labels.
//
//   Selector          a parsed selector, for matching and printing
//   LabelRequirement  one term of a selector
//
//   Result<Selector> web = Selector::Parse("app in (web,api), tier!=test, !legacy");
//   if (web && web->Matches(pod.metadata.labels)) ...
//   Result<Selector> pods = Selector::FromLabelSelector(deployment.spec.selector);
//
// For field selectors such as `metadata.name=x` see field_selector.h. meta::v1::LabelSelector is the API struct; Selector evaluates it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/value/box.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace kube {

namespace meta::v1 {
struct LabelSelector;
}

// The operator of a LabelRequirement.
enum class SelectorOperator : std::uint8_t {
  kEquals,        // key=value
  kDoubleEquals,  // key==value, the same as kEquals
  kNotEquals,     // key!=value; true if the key is absent
  kIn,            // key in (a,b)
  kNotIn,         // key notin (a,b); true if the key is absent
  kExists,        // key
  kDoesNotExist,  // !key
  kGreaterThan,   // key>5; both sides are integers
  kLessThan,      // key<5
};
// "=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt": Go's names.
KUBE_EXPORT std::string_view ToString(SelectorOperator op);

// One term of a Selector. Always valid, because only Create makes one.
class KUBE_EXPORT LabelRequirement {
 public:
  static constexpr bool kMovesByBytes = true;  // allows a List to hold them

  // Fails if the key or a value violates the rules for labels (validation.h), or if the number of values does not fit the operator: one for
  // (not) equals, at least one for (not) in, none for exists, one 64-bit integer for greater and less.
  static Result<LabelRequirement> Create(String key, SelectorOperator op, List<String> values);

  const String& key() const { return key_; }
  SelectorOperator op() const { return op_; }
  const List<String>& values() const { return values_; }

  // Whether `labels` satisfy the term.
  bool Matches(const Map<String>& labels) const;
  // The text of the term, with sorted values.
  std::string ToString() const;

  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;

 private:
  friend class Selector;
  LabelRequirement(String key, SelectorOperator op, List<String> values) : key_(std::move(key)), values_(std::move(values)), op_(op) {}

  String key_;
  List<String> values_;
  std::int64_t bound_ = 0;  // the value of kGreaterThan and kLessThan
  SelectorOperator op_;
};

// A conjunction of LabelRequirements, or Nothing(). Default-constructed, it is Everything().
//
// Grammar: requirements separated by commas; a requirement is `key`, `!key`, `key = value`, `==`, `!=`, `key in (a, b)`, `key notin (a,
// b)`, `key > 5` or `key < 5`. Blanks between tokens are ignored. There is no quoting; label values need none. A missing value is the empty
// one: `key=`, `key in (a,)`. `in` and `notin` are also valid as keys and values.
//
// Thread safety: immutable; copies cost one atomic increment and may be used from any thread.
class KUBE_EXPORT Selector {
 public:
  Selector() noexcept = default;
  static Selector Everything() { return {}; }  // matches every object
  // Matches no object. Prints as empty text, so check MatchesNothing() before sending it to a server.
  static Selector Nothing() {
    Selector s;
    s.nothing_ = true;
    return s;
  }
  // Parses a selector; empty text matches everything. Errors (kInvalid) name the byte offset.
  static Result<Selector> Parse(std::string_view text);
  // Requires key=value for each label; without labels, matches everything. Does not validate: for labels that come from a server.
  static Selector FromLabels(const Map<String>& labels);
  // The same with validation, for labels from user input.
  static Result<Selector> FromCheckedLabels(const Map<String>& labels);
  // An empty struct matches everything, an absent one nothing, as everywhere in Kubernetes.
  static Result<Selector> FromLabelSelector(const meta::v1::LabelSelector& selector);
  static Result<Selector> FromLabelSelector(const Box<meta::v1::LabelSelector>& selector);
  static Selector FromRequirements(List<LabelRequirement> requirements);  // does not validate

  // Whether `labels` satisfy all requirements.
  bool Matches(const Map<String>& labels) const;
  // True if the selector matches everything.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  bool MatchesNothing() const { return nothing_; }  // true for Nothing()
  // Sorted by key; requirements with the same key keep their order.
  const List<LabelRequirement>& requirements() const { return requirements_; }
  // Returns a selector that also requires these. Nothing() stays Nothing().
  [[nodiscard]] Selector And(const List<LabelRequirement>& requirements) const;

  // The only value that the first requirement on `key` allows, if there is exactly one. Useful for an index by label.
  std::optional<String> RequiresExactMatch(std::string_view key) const;

  // The canonical text; it parses back to an equal selector.
  std::string ToString() const;
  // Converts to the API struct; = and == become match_labels. Fails for > and <, which the struct cannot express, for Nothing(), and if one
  // key must equal two values.
  Result<meta::v1::LabelSelector> ToLabelSelector() const;

  friend bool operator==(const Selector&, const Selector&) = default;
  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const Selector& s) {
    stream << (s.nothing_ ? std::string("<nothing>") : s.ToString());
    return stream;
  }

 private:
  List<LabelRequirement> requirements_;
  bool nothing_ = false;
};

}  // namespace kube

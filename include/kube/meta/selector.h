// Label selectors: which objects, by their labels.
//
//   Selector          a parsed selector: match it, print it
//   LabelRequirement  one term of it
//
//   Result<Selector> web = Selector::Parse("app in (web,api), tier!=test, !legacy");
//   if (web && web->Matches(pod.metadata.labels)) ...
//   Result<Selector> pods = Selector::FromLabelSelector(deployment.spec.selector);
//
// For `metadata.name=x` and the like see field_selector.h. meta::v1::LabelSelector is the API struct; this is what evaluates it.
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

enum class SelectorOperator : std::uint8_t {
  kEquals,        // key=value
  kDoubleEquals,  // key==value, the same
  kNotEquals,     // key!=value; true where the key is absent
  kIn,            // key in (a,b)
  kNotIn,         // key notin (a,b); true where the key is absent
  kExists,        // key
  kDoesNotExist,  // !key
  kGreaterThan,   // key>5; both sides are integers
  kLessThan,      // key<5
};
// "=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt": the names that Go uses.
KUBE_EXPORT std::string_view ToString(SelectorOperator op);

// One term of a Selector. Always valid: made by Create only.
class KUBE_EXPORT LabelRequirement {
 public:
  static constexpr bool kMovesByBytes = true;  // a List holds them

  // Fails where the key or a value breaks the rules for labels (validation.h), or where the operator wants another number of values:
  // (not) equals one, (not) in at least one, exists none, greater and less one integer of 64 bits.
  static Result<LabelRequirement> Create(String key, SelectorOperator op, List<String> values);

  const String& key() const { return key_; }
  SelectorOperator op() const { return op_; }
  const List<String>& values() const { return values_; }

  bool Matches(const Map<String>& labels) const;
  // With the values in order.
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

// A conjunction of LabelRequirements, or Nothing(). The default one is Everything().
//
// Grammar of the text: requirements divided by commas; a requirement is `key`, `!key`, `key = value`, `==`, `!=`, `key in (a, b)`,
// `key notin (a, b)`, `key > 5` or `key < 5`. Blanks between tokens do not matter. There is no quoting: label values need none.
// A missing value is the empty one: `key=`, `key in (a,)`. `in` and `notin` are also fine as keys and values.
//
// Thread safety: immutable; copies cost one atomic increment and may be used from any thread.
class KUBE_EXPORT Selector {
 public:
  Selector() noexcept = default;
  static Selector Everything() { return {}; }
  // Matches no object at all. Prints as the empty text, so ask MatchesNothing() before sending it to a server.
  static Selector Nothing() {
    Selector s;
    s.nothing_ = true;
    return s;
  }
  // Empty text matches everything. Errors (kInvalid) name the byte offset.
  static Result<Selector> Parse(std::string_view text);
  // key=value for each label; no labels match everything. Nothing is checked: for labels that come from a server.
  static Selector FromLabels(const Map<String>& labels);
  // The same for labels that a person wrote.
  static Result<Selector> FromCheckedLabels(const Map<String>& labels);
  // An empty struct matches everything, an absent one nothing, as everywhere in Kubernetes.
  static Result<Selector> FromLabelSelector(const meta::v1::LabelSelector& selector);
  static Result<Selector> FromLabelSelector(const Box<meta::v1::LabelSelector>& selector);
  static Selector FromRequirements(List<LabelRequirement> requirements);

  bool Matches(const Map<String>& labels) const;
  // True where it restricts nothing.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  bool MatchesNothing() const { return nothing_; }
  // Sorted by key; requirements of the same key stay in the order in which they were given.
  const List<LabelRequirement>& requirements() const { return requirements_; }
  // A selector that also requires these. Nothing() stays Nothing().
  [[nodiscard]] Selector And(const List<LabelRequirement>& requirements) const;

  // Where the first requirement on `key` allows one value only, that value. What an index by label can use.
  std::optional<String> RequiresExactMatch(std::string_view key) const;

  // Canonical text; parses back to an equal selector.
  std::string ToString() const;
  // As the API struct; = and == become match_labels. Fails on > and <, which the struct cannot say, on Nothing(), and where one key
  // is required to equal two values.
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

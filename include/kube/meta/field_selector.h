// Field selectors: select objects by the fields that the server supports for a kind.
//
//   Result<FieldSelector> s = FieldSelector::Parse("metadata.name=web,status.phase!=Running");
//   FieldSelector one = FieldSelector::Equals("metadata.name", "web");
//
// For labels see selector.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace kube {

// One term: field=value or field!=value.
struct FieldRequirement {
  static constexpr bool kMovesByBytes = true;  // allows a List to hold them
  String field{};
  String value{};
  bool negated = false;
  friend bool operator==(const FieldRequirement&, const FieldRequirement&) = default;
};

// A conjunction of FieldRequirements, or Nothing(). Default-constructed, it is Everything().
//
// Grammar: terms separated by commas, each `field=value`, `field==value` or `field!=value`. In a value, ',', '=' and '\' are escaped by a
// backslash. Blanks are part of the field or value. Empty terms, and terms with neither field nor value, are skipped. A field that an
// object lacks compares as empty.
//
// Thread safety: immutable; copies cost one atomic increment and may be used from any thread.
class KUBE_EXPORT FieldSelector {
 public:
  // Maps a field and value to another name or form. If both results are empty, the term is dropped.
  using TransformFn = std::function<Result<std::pair<String, String>>(std::string_view field, std::string_view value)>;

  FieldSelector() noexcept = default;
  // Matches every object.
  static FieldSelector Everything() { return {}; }
  // Matches no object. Prints as empty text.
  static FieldSelector Nothing() {
    FieldSelector s;
    s.nothing_ = true;
    return s;
  }
  static FieldSelector Equals(String field, String value) { return One({std::move(field), std::move(value), false}); }    // field=value
  static FieldSelector NotEquals(String field, String value) { return One({std::move(field), std::move(value), true}); }  // field!=value
  // Requires field=value for each entry.
  static FieldSelector FromFields(const Map<String>& fields);
  // Parses a selector; empty text matches everything. Sorts the terms. Errors (kInvalid) name the byte offset.
  static Result<FieldSelector> Parse(std::string_view text);

  // Whether `fields` satisfy all terms.
  bool Matches(const Map<String>& fields) const {
    return Matches([&fields](std::string_view field) -> const String& { return fields.Get(field); });
  }
  // `get(std::string_view field)` returns the text of a field, empty if the object lacks it.
  template <typename Get>
  requires requires(const Get& get, std::string_view field) { static_cast<std::string_view>(get(field)); }
  bool Matches(const Get& get) const {
    if (nothing_) return false;
    for (const FieldRequirement& r : requirements_) {
      if ((static_cast<std::string_view>(get(r.field.view())) == r.value.view()) == r.negated) return false;
    }
    return true;
  }
  // True if the selector matches everything.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  bool MatchesNothing() const { return nothing_; }  // true for Nothing()
  const List<FieldRequirement>& requirements() const { return requirements_; }

  // The value that `field` must have, if the selector requires exactly one.
  std::optional<String> RequiresExactMatch(std::string_view field) const;
  // Applies `fn` to each term. Stops at the first error of `fn`.
  Result<FieldSelector> Transform(const TransformFn& fn) const;
  // Returns a selector that requires both.
  [[nodiscard]] FieldSelector And(const FieldSelector& other) const;
  // The text of the selector, which parses back.
  std::string ToString() const;

  friend bool operator==(const FieldSelector&, const FieldSelector&) = default;
  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const FieldSelector& s) {
    stream << (s.nothing_ ? std::string("<nothing>") : s.ToString());
    return stream;
  }

 private:
  static FieldSelector One(FieldRequirement r);

  List<FieldRequirement> requirements_;
  bool nothing_ = false;
};

// EscapeFieldValue returns a value as it is written in a selector; UnescapeFieldValue reverses that.
KUBE_EXPORT std::string EscapeFieldValue(std::string_view value);
KUBE_EXPORT Result<std::string> UnescapeFieldValue(std::string_view text);

}  // namespace kube

// Field selectors: which objects, by a few fields that the server knows how to select by.
//
//   Result<FieldSelector> s = FieldSelector::Parse("metadata.name=web,status.phase!=Running");
//   FieldSelector one = FieldSelector::Equals("metadata.name", "web");
//
// Which fields may be used depends on the kind. For labels see selector.h.
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
  static constexpr bool kMovesByBytes = true;  // a List holds them
  String field{};
  String value{};
  bool negated = false;
  friend bool operator==(const FieldRequirement&, const FieldRequirement&) = default;
};

// A conjunction of FieldRequirements, or Nothing(). The default one is Everything().
//
// Grammar of the text: terms divided by commas, each `field=value`, `field==value` or `field!=value`. In a value, a backslash stands
// before ',', '=' and '\'. Blanks count as part of the field or value. Empty terms, and terms with neither field nor value, are
// passed over. A field that an object does not have compares as empty.
//
// Thread safety: immutable; copies cost one atomic increment and may be used from any thread.
class KUBE_EXPORT FieldSelector {
 public:
  // Gives a field and value a new name or form; both empty drop the term.
  using TransformFn = std::function<Result<std::pair<String, String>>(std::string_view field, std::string_view value)>;

  FieldSelector() noexcept = default;
  static FieldSelector Everything() { return {}; }
  // Matches no object at all. Prints as the empty text.
  static FieldSelector Nothing() {
    FieldSelector s;
    s.nothing_ = true;
    return s;
  }
  static FieldSelector Equals(String field, String value) { return One({std::move(field), std::move(value), false}); }
  static FieldSelector NotEquals(String field, String value) { return One({std::move(field), std::move(value), true}); }
  // field=value for each entry.
  static FieldSelector FromFields(const Map<String>& fields);
  // Empty text matches everything. Errors (kInvalid) name the byte offset. Terms are sorted.
  static Result<FieldSelector> Parse(std::string_view text);

  bool Matches(const Map<String>& fields) const {
    return Matches([&fields](std::string_view field) -> const String& { return fields.Get(field); });
  }
  // `get(std::string_view field)` gives the text of a field, empty where the object has none.
  template <typename Get>
  requires requires(const Get& get, std::string_view field) { static_cast<std::string_view>(get(field)); }
  bool Matches(const Get& get) const {
    if (nothing_) return false;
    for (const FieldRequirement& r : requirements_) {
      if ((static_cast<std::string_view>(get(r.field.view())) == r.value.view()) == r.negated) return false;
    }
    return true;
  }
  // True where it restricts nothing.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  bool MatchesNothing() const { return nothing_; }
  const List<FieldRequirement>& requirements() const { return requirements_; }

  // Where the field must have one value, that value.
  std::optional<String> RequiresExactMatch(std::string_view field) const;
  // The selector with each term put through `fn`; the first error of `fn` ends it.
  Result<FieldSelector> Transform(const TransformFn& fn) const;
  // A selector that requires both.
  [[nodiscard]] FieldSelector And(const FieldSelector& other) const;
  // Text that parses back.
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

// A value as it stands in a selector's text, and back.
KUBE_EXPORT std::string EscapeFieldValue(std::string_view value);
KUBE_EXPORT Result<std::string> UnescapeFieldValue(std::string_view text);

}  // namespace kube

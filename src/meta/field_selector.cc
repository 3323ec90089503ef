#include "kube/meta/field_selector.h"

#include <algorithm>
#include <vector>

#include "value/quote.h"

namespace kube {

namespace {

Error At(std::size_t offset, const std::string& what) {
  return Error::Invalid("field selector: offset " + std::to_string(offset) + ": " + what);
}

bool NeedsEscape(char c) { return c == '\\' || c == ',' || c == '='; }

// `offset` is where `text` starts in what the user wrote.
Result<std::string> Unescape(std::string_view text, std::size_t offset) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\') {
      if (i + 1 == text.size()) return At(offset + i, "a backslash at the end of a value");
      if (!NeedsEscape(text[i + 1])) return At(offset + i, "unknown escape " + internal::Quote(text.substr(i, 2)));
      c = text[++i];
    } else if (NeedsEscape(c)) {
      return At(offset + i, std::string("'") + c + "' in a value needs a backslash in front");
    }
    out += c;
  }
  return out;
}

struct Term {
  std::string_view text;
  std::size_t offset = 0;
};

std::vector<Term> SplitTerms(std::string_view text) {
  std::vector<Term> terms;
  std::size_t start = 0;
  auto end_at = [&](std::size_t end) {
    if (end > start) terms.push_back({text.substr(start, end - start), start});
    start = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // what follows is data
    } else if (text[i] == ',') {
      end_at(i);
    }
  }
  end_at(text.size());
  return terms;
}

Result<FieldRequirement> ParseTerm(const Term& term) {
  std::string_view text = term.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool negated = text.substr(i).starts_with("!=");
    if (!negated && text[i] != '=') continue;
    std::size_t value_at = i + (negated || text.substr(i).starts_with("==") ? 2 : 1);
    Result<std::string> value = Unescape(text.substr(value_at), term.offset + value_at);
    if (!value) return value.error();
    return FieldRequirement{text.substr(0, i), *value, negated};
  }
  return At(term.offset, "expected field=value or field!=value, found " + internal::Quote(text));
}

}  // namespace

std::string EscapeFieldValue(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (char c : value) {
    if (NeedsEscape(c)) out += '\\';
    out += c;
  }
  return out;
}

Result<std::string> UnescapeFieldValue(std::string_view text) { return Unescape(text, 0); }

FieldSelector FieldSelector::One(FieldRequirement r) {
  FieldSelector selector;
  selector.requirements_.push_back(std::move(r));
  return selector;
}

FieldSelector FieldSelector::FromFields(const Map<String>& fields) {
  FieldSelector selector;
  for (const auto& [field, value] : fields) selector.requirements_.push_back({field, value, false});
  return selector;
}

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  std::vector<Term> terms = SplitTerms(text);
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.text < b.text; });
  FieldSelector selector;
  for (const Term& term : terms) {
    Result<FieldRequirement> r = ParseTerm(term);
    if (!r) return r.error();
    // Go drops a term that says nothing, even "!=", which nothing could match.
    if (r->field.empty() && r->value.empty()) continue;
    selector.requirements_.push_back(*std::move(r));
  }
  return selector;
}

std::optional<String> FieldSelector::RequiresExactMatch(std::string_view field) const {
  for (const FieldRequirement& r : requirements_) {
    if (!r.negated && r.field == field) return r.value;
  }
  return std::nullopt;
}

Result<FieldSelector> FieldSelector::Transform(const TransformFn& fn) const {
  FieldSelector out;
  out.nothing_ = nothing_;
  for (const FieldRequirement& r : requirements_) {
    Result<std::pair<String, String>> changed = fn(r.field, r.value);
    if (!changed) return changed.error();
    if (changed->first.empty() && changed->second.empty()) continue;
    out.requirements_.push_back({changed->first, changed->second, r.negated});
  }
  return out;
}

FieldSelector FieldSelector::And(const FieldSelector& other) const {
  if (nothing_ || other.nothing_) return Nothing();
  FieldSelector out = *this;
  for (const FieldRequirement& r : other.requirements_) out.requirements_.push_back(r);
  return out;
}

std::string FieldSelector::ToString() const {
  std::string out;
  for (const FieldRequirement& r : requirements_) {
    if (&r != requirements_.begin()) out += ',';
    out += r.field.view();
    out += r.negated ? "!=" : "=";
    out += EscapeFieldValue(r.value);
  }
  return out;
}

}  // namespace kube

#include "kube/meta/selector.h"

#include <algorithm>
#include <charconv>

#include "kube/meta/v1.h"
#include "kube/meta/validation.h"
#include "value/quote.h"

namespace kube {

namespace {

// As Go's strconv.ParseInt with base 10: an optional sign, digits, 64 bits.
std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

void SortByKey(List<LabelRequirement>& requirements) {
  auto less = [](const LabelRequirement& a, const LabelRequirement& b) { return a.key() < b.key(); };
  if (std::is_sorted(requirements.cbegin(), requirements.cend(), less)) return;
  std::stable_sort(requirements.begin(), requirements.end(), less);
}

Result<SelectorOperator> OperatorFromApi(std::string_view name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  return Error::Invalid("label selector operator " + internal::Quote(name) + " is none of In, NotIn, Exists, DoesNotExist");
}

}  // namespace

std::string_view ToString(SelectorOperator op) {
  switch (op) {
    case SelectorOperator::kEquals:
      return "=";
    case SelectorOperator::kDoubleEquals:
      return "==";
    case SelectorOperator::kNotEquals:
      return "!=";
    case SelectorOperator::kIn:
      return "in";
    case SelectorOperator::kNotIn:
      return "notin";
    case SelectorOperator::kExists:
      return "exists";
    case SelectorOperator::kDoesNotExist:
      return "!";
    case SelectorOperator::kGreaterThan:
      return "gt";
    case SelectorOperator::kLessThan:
      return "lt";
  }
  return "";
}

Result<LabelRequirement> LabelRequirement::Create(String key, SelectorOperator op, List<String> values) {
  if (auto r = ValidateLabelKey(key); !r) return r.error();
  auto wants = [&](std::string_view what) {
    return Error::Invalid("operator '" + std::string(kube::ToString(op)) + "' on label " + internal::Quote(key) + " wants " +
                          std::string(what));
  };
  std::int64_t bound = 0;
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) return wants("at least one value");
      break;
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
    case SelectorOperator::kNotEquals:
      if (values.size() != 1) return wants("exactly one value");
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) return wants("no value");
      break;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      if (values.size() != 1) return wants("exactly one value");
      auto n = ParseInteger(std::as_const(values).front());
      if (!n) return wants("an integer of 64 bits, got " + internal::Quote(std::as_const(values).front()));
      bound = *n;
      break;
    }
  }
  for (const String& value : std::as_const(values)) {
    if (auto r = ValidateLabelValue(value); !r) return r.error().WithContext("label " + internal::Quote(key));
  }
  LabelRequirement requirement(std::move(key), op, std::move(values));
  requirement.bound_ = bound;
  return requirement;
}

bool LabelRequirement::Matches(const Map<String>& labels) const {
  const String* value = labels.Find(key_);
  auto listed = [&] { return std::find(values_.begin(), values_.end(), *value) != values_.end(); };
  switch (op_) {
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
    case SelectorOperator::kIn:
      return value != nullptr && listed();
    case SelectorOperator::kNotEquals:
    case SelectorOperator::kNotIn:
      return value == nullptr || !listed();
    case SelectorOperator::kExists:
      return value != nullptr;
    case SelectorOperator::kDoesNotExist:
      return value == nullptr;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      if (value == nullptr) return false;
      auto n = ParseInteger(*value);
      return n && (op_ == SelectorOperator::kGreaterThan ? *n > bound_ : *n < bound_);
    }
  }
  return false;
}

std::string LabelRequirement::ToString() const {
  std::string out;
  if (op_ == SelectorOperator::kDoesNotExist) out += '!';
  out += key_.view();
  bool set = op_ == SelectorOperator::kIn || op_ == SelectorOperator::kNotIn;
  switch (op_) {
    case SelectorOperator::kEquals:
      out += '=';
      break;
    case SelectorOperator::kDoubleEquals:
      out += "==";
      break;
    case SelectorOperator::kNotEquals:
      out += "!=";
      break;
    case SelectorOperator::kIn:
      out += " in (";
      break;
    case SelectorOperator::kNotIn:
      out += " notin (";
      break;
    case SelectorOperator::kGreaterThan:
      out += '>';
      break;
    case SelectorOperator::kLessThan:
      out += '<';
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      break;
  }
  List<String> sorted = values_;
  if (!std::is_sorted(values_.begin(), values_.end())) std::sort(sorted.begin(), sorted.end());
  for (const String* value = sorted.cbegin(); value != sorted.cend(); ++value) {
    if (value != sorted.cbegin()) out += ',';
    out += value->view();
  }
  if (set) out += ')';
  return out;
}

Selector Selector::FromLabels(const Map<String>& labels) {
  Selector selector;
  selector.requirements_.reserve(labels.size());
  for (const auto& [key, value] : labels) {
    selector.requirements_.push_back(LabelRequirement(key, SelectorOperator::kEquals, {value}));
  }
  return selector;  // a Map is sorted by key
}

Result<Selector> Selector::FromCheckedLabels(const Map<String>& labels) {
  Selector selector;
  for (const auto& [key, value] : labels) {
    auto r = LabelRequirement::Create(key, SelectorOperator::kEquals, {value});
    if (!r) return r.error();
    selector.requirements_.push_back(*std::move(r));
  }
  return selector;
}

Result<Selector> Selector::FromLabelSelector(const meta::v1::LabelSelector& api) {
  Result<Selector> labels = FromCheckedLabels(api.match_labels);
  if (!labels) return labels.error().WithContext("matchLabels");
  List<LabelRequirement> requirements = labels->requirements_;
  for (std::size_t i = 0; i < api.match_expressions.size(); ++i) {
    const auto& expression = api.match_expressions[i];
    auto context = [i] { return "matchExpressions[" + std::to_string(i) + "]"; };
    Result<SelectorOperator> op = OperatorFromApi(expression.operator_);
    if (!op) return op.error().WithContext(context());
    auto r = LabelRequirement::Create(expression.key, *op, expression.values);
    if (!r) return r.error().WithContext(context());
    requirements.push_back(*std::move(r));
  }
  return FromRequirements(std::move(requirements));
}

Result<Selector> Selector::FromLabelSelector(const Box<meta::v1::LabelSelector>& api) {
  if (!api) return Nothing();
  return FromLabelSelector(*api);
}

Selector Selector::FromRequirements(List<LabelRequirement> requirements) {
  Selector selector;
  selector.requirements_ = std::move(requirements);
  SortByKey(selector.requirements_);
  return selector;
}

bool Selector::Matches(const Map<String>& labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const LabelRequirement& r) { return r.Matches(labels); });
}

Selector Selector::And(const List<LabelRequirement>& requirements) const {
  if (nothing_) return *this;
  List<LabelRequirement> all = requirements_;
  for (const LabelRequirement& r : requirements) all.push_back(r);
  return FromRequirements(std::move(all));
}

std::optional<String> Selector::RequiresExactMatch(std::string_view key) const {
  for (const LabelRequirement& r : requirements_) {
    if (r.key() != key) continue;
    bool positive = r.op() == SelectorOperator::kEquals || r.op() == SelectorOperator::kDoubleEquals || r.op() == SelectorOperator::kIn;
    if (positive && r.values().size() == 1) return r.values().front();
    return std::nullopt;
  }
  return std::nullopt;
}

std::string Selector::ToString() const {
  std::string out;
  for (const LabelRequirement& r : requirements_) {
    if (!out.empty()) out += ',';
    out += r.ToString();
  }
  return out;
}

Result<meta::v1::LabelSelector> Selector::ToLabelSelector() const {
  if (nothing_) return Error::Invalid("a selector that matches nothing has no LabelSelector; leave the field out instead");
  meta::v1::LabelSelector api;
  for (const LabelRequirement& r : requirements_) {
    std::string_view op;
    switch (r.op()) {
      case SelectorOperator::kEquals:
      case SelectorOperator::kDoubleEquals: {
        const String& value = r.values().front();
        const String* other = std::as_const(api.match_labels).Find(r.key());
        if (other != nullptr && *other != value) {
          return Error::Invalid("label " + internal::Quote(r.key()) + " is required to equal both " + internal::Quote(*other) + " and " +
                                internal::Quote(value) + "; a LabelSelector cannot say that");
        }
        api.match_labels.Set(r.key(), value);
        continue;
      }
      case SelectorOperator::kIn:
        op = "In";
        break;
      case SelectorOperator::kNotEquals:
      case SelectorOperator::kNotIn:
        op = "NotIn";
        break;
      case SelectorOperator::kExists:
        op = "Exists";
        break;
      case SelectorOperator::kDoesNotExist:
        op = "DoesNotExist";
        break;
      case SelectorOperator::kGreaterThan:
      case SelectorOperator::kLessThan:
        return Error::Invalid("operator '" + std::string(kube::ToString(r.op())) + "' on label " + internal::Quote(r.key()) +
                              " has no form in a LabelSelector");
    }
    meta::v1::LabelSelectorRequirement expression;
    expression.key = r.key();
    expression.operator_ = op;
    expression.values = r.values();
    api.match_expressions.push_back(std::move(expression));
  }
  return api;
}

}  // namespace kube

// Validation of values against a CRD's schema. The order of checks, the counting of matches (which decides what branch of an anyOf is
// reported) and the words are those of the validator in real servers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "apiserver/field_set.h"
#include "apiserver/json_schema.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

struct Problem {
  enum class Kind : std::uint8_t { kRequired, kEnum, kTooLong, kTooMany, kType, kOther, kGeneral };
  Kind kind = Kind::kOther;
  std::string name;     // path; unused by kGeneral
  std::string message;  // also identifies a problem
  Value value;
  std::int64_t limit = 0;
  std::vector<std::string> supported;
};

struct Outcome {
  std::vector<Problem> problems;
  int matches = 0;

  bool ok() const { return problems.empty(); }
  void Add(Problem p) {
    for (const Problem& known : problems) {
      if (known.message == p.message) return;
    }
    problems.push_back(std::move(p));
  }
  void Merge(const Outcome& other) {
    for (const Problem& p : other.problems) Add(p);
    matches += other.matches;
  }
};

Problem General(std::string message) { return {.kind = Problem::Kind::kGeneral, .message = std::move(message)}; }

std::string Plain(const Value& v) { return v.is_double() ? PrintGoFloat(v.double_value()) : ToJson(v); }

std::size_t CountRunes(std::string_view text) {
  std::size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

// Go's notion of a float that is an integer: a tiny relative error is forgiven.
bool IsJsonInteger(double f) {
  if (std::isnan(f) || std::isinf(f) || f < -9007199254740992.0 || f > 9007199254740991.0) return false;
  if (f == std::trunc(f)) return true;
  double g = f < 0 ? 0 : std::trunc(f);
  double diff = std::fabs(f - g);
  if (f == 0 || g == 0) return false;
  return diff / std::min(std::fabs(f) + std::fabs(g), std::numeric_limits<double>::max()) < 1e-9;
}

bool FitsInt(const Value& v, double low, double high) {
  if (v.is_int()) return static_cast<double>(v.int_value()) >= low && static_cast<double>(v.int_value()) <= high;
  double d = v.double_value();
  return d == std::trunc(d) && d >= low && d < high + 1;
}

// How a real server's validator names a type.
std::string_view TypeName(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "boolean";
    case Value::Kind::kInt:
      return "integer";
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kList:
      return "array";
    case Value::Kind::kObject:
      return "object";
  }
  return "";
}

std::string_view DataFormat(const Value& v) { return v.is_int() ? "int64" : (v.is_double() ? "float64" : ""); }

// The format as far as the validator looks at it.
std::string_view EffectiveFormat(const JsonSchema& s, SchemaUse use) {
  if (s.format.empty() || use == SchemaUse::kDefaults) return s.format;
  if (s.int_or_string || s.type.empty() || s.type == "string") return IsKnownFormat(s.format) ? std::string_view(s.format) : "";
  if (s.type == "integer") return s.format == "int32" || s.format == "int64" ? std::string_view(s.format) : "";
  if (s.type == "number") return s.format == "float" || s.format == "double" ? std::string_view(s.format) : "";
  return {};
}

// The item of the old list that has the same keys.
const Value* Correlate(const JsonSchema& s, const Value& old_list, const Value& item) {
  if (s.list_type.value_or("") != "map" || !item.is_object()) return nullptr;
  for (const Value& candidate : old_list.list()) {
    bool same = std::all_of(s.list_map_keys.begin(), s.list_map_keys.end(), [&](const std::string& key) {
      const Value *a = candidate.Find(key), *b = item.Find(key);
      return a != nullptr && b != nullptr && !b->is_object() && !b->is_list() && !b->is_null() && *a == *b;
    });
    if (same) return &candidate;
  }
  return nullptr;
}

// Whether a value is as it was. Where parts cannot be compared one to one (no schema, items without keys), it counts as changed.
bool Unchanged(const JsonSchema* s, const Value& value, const Value& old) {
  if (s == nullptr || value.is_null() || old.is_null()) return s != nullptr && value.is_null() && old.is_null();
  if (value.is_list() && old.is_list()) {
    if (value.list().size() != old.list().size()) return false;
    if (value.list().empty()) return true;
    if (s->list_type.value_or("") != "map") return value == old;
    return std::all_of(value.list().begin(), value.list().end(), [&](const Value& item) {
      const Value* before = Correlate(*s, old, item);
      return before != nullptr && Unchanged(s->items.get(), item, *before);
    });
  }
  if (value.is_object() && old.is_object()) {
    if (value.object().size() != old.object().size()) return false;
    return std::all_of(value.object().begin(), value.object().end(), [&](const MapEntry<Value>& member) {
      const Value* before = old.Find(member.key);
      const JsonSchema* property = s->Property(member.key);
      return before != nullptr && Unchanged(property != nullptr ? property : s->additional.get(), member.value, *before);
    });
  }
  return value.kind() == old.kind() && value == old;
}

class Validator {
 public:
  explicit Validator(SchemaUse use) : use_(use) {}

  // `old` null: nothing to compare with.
  Outcome Validate(const JsonSchema& s, const std::string& path, const Value& value, const Value* old) const {
    Outcome out = Check(s, path, value, old);
    if (out.ok() || old == nullptr || !Unchanged(&s, value, *old)) return out;
    return {.matches = out.matches};
  }

 private:
  SchemaUse use_;

  std::string_view FormatOf(const JsonSchema& s) const { return EffectiveFormat(s, use_); }
  bool AllowsIntOrString(const JsonSchema& s) const { return s.int_or_string && use_ == SchemaUse::kObjects; }

  Outcome Check(const JsonSchema& s, const std::string& path, const Value& value, const Value* old) const {
    Outcome out;
    if (value.is_null()) {
      out.Merge(CheckType(s, path, value));
      out.Merge(CheckEnum(s, path, value));
      return out;
    }
    auto run = [&](const Outcome& o) {
      out.Merge(o);
      ++out.matches;
    };
    if (AllowsIntOrString(s) || !s.type.empty() || !FormatOf(s).empty()) run(CheckType(s, path, value));
    run(CheckBranches(s, path, value));
    if (value.is_string()) {
      run(CheckString(s, path, value));
      if (std::string_view format = FormatOf(s); !format.empty() && IsKnownFormat(format)) run(CheckFormat(format, path, value));
    }
    if (value.is_number()) run(CheckNumber(s, path, value));
    if (value.is_list()) run(CheckList(s, path, value, old));
    run(CheckEnum(s, path, value));
    if (value.is_object()) run(CheckObject(s, path, value, old));
    ++out.matches;
    return out;
  }

  static Problem WrongType(const std::string& path, std::string_view type, std::string_view got) {
    return {.kind = Problem::Kind::kType,
            .name = path,
            .message = path + " in body must be of type " + std::string(type) + ": " + QuoteGo(got),
            .value = got};
  }
  static Problem Other(const std::string& path, std::string message, Value value) {
    return {.kind = Problem::Kind::kOther, .name = path, .message = path + " in body " + std::move(message), .value = std::move(value)};
  }

  Outcome CheckType(const JsonSchema& s, const std::string& path, const Value& value) const {
    Outcome ok{.matches = 1};
    auto fail = [&](std::string_view type, std::string_view got) {
      Outcome out;
      out.Add(WrongType(path, type, got));
      return out;
    };
    bool int_or_string = AllowsIntOrString(s);
    std::string types = int_or_string ? "integer,string" : s.type;
    auto contains = [&](std::string_view t) { return int_or_string ? t == "integer" || t == "string" : t == s.type; };
    if (value.is_null()) return types.empty() || contains("null") || s.nullable ? ok : fail(types, "null");
    std::string_view type = TypeName(value), data_format = DataFormat(value), format = FormatOf(s);
    bool float_int = value.is_double() && IsJsonInteger(value.double_value()) && contains("integer");
    bool int_float = value.is_int() && contains("number");
    bool text_or_list = value.is_string() || value.is_list();
    if (!text_or_list && !format.empty() && !(contains(type) || data_format == format || float_int || int_float)) {
      return fail(format, data_format);
    }
    if (!contains("number") && !contains("integer") && !format.empty() && text_or_list) return ok;
    if (!(contains(type) || float_int || int_float)) return fail(types, type);
    return ok;
  }

  Outcome CheckBranches(const JsonSchema& s, const std::string& path, const Value& value) const {
    Outcome out;
    if (!s.any_of.empty()) {
      std::optional<Outcome> best, success;
      for (const JsonSchema& branch : s.any_of) {
        Outcome o = Validate(branch, path, value, nullptr);
        if (o.ok()) {
          success = std::move(o);
          break;
        }
        if (!best || o.matches > best->matches) best = std::move(o);
      }
      if (success) {
        out.Merge(*success);
      } else {
        out.Add(General(QuoteGo(path) + " must validate at least one schema (anyOf)"));
        if (best) out.Merge(*best);
      }
    }
    if (!s.one_of.empty()) {
      std::optional<Outcome> best, success;
      int valid = 0;
      for (const JsonSchema& branch : s.one_of) {
        Outcome o = Validate(branch, path, value, nullptr);
        if (o.ok()) {
          ++valid;
          best.reset();
          if (!success) success = std::move(o);
          continue;
        }
        if (valid == 0 && (!best || o.matches > best->matches)) best = std::move(o);
      }
      if (valid == 1) {
        out.Merge(*success);
      } else {
        std::string found = valid == 0 ? "Found none valid" : "Found " + std::to_string(valid) + " valid alternatives";
        out.Add(General(QuoteGo(path) + " must validate one and only one schema (oneOf). " + found));
        if (best) out.Merge(*best);
      }
    }
    if (!s.all_of.empty()) {
      std::size_t valid = 0;
      for (const JsonSchema& branch : s.all_of) {
        Outcome o = Validate(branch, path, value, nullptr);
        if (o.ok()) ++valid;
        out.Merge(o);
      }
      if (valid != s.all_of.size()) {
        out.Add(General(QuoteGo(path) + " must validate all the schemas (allOf)" + (valid == 0 ? ". None validated" : "")));
      }
    }
    if (s.not_schema != nullptr && Validate(*s.not_schema, path, value, nullptr).ok()) {
      out.Add(General(QuoteGo(path) + " must not validate the schema (not)"));
    }
    ++out.matches;
    return out;
  }

  static Outcome CheckString(const JsonSchema& s, const std::string& path, const Value& value) {
    Outcome out;
    std::string_view text = value.string_value();
    auto length = static_cast<std::int64_t>(CountRunes(text));
    if (s.max_length && length > *s.max_length) {
      out.Add({.kind = Problem::Kind::kTooLong,
               .name = path,
               .message = path + " in body should be at most " + std::to_string(*s.max_length) + " chars long",
               .limit = *s.max_length});
    } else if (s.min_length && length < *s.min_length) {
      out.Add(Other(path, "should be at least " + std::to_string(*s.min_length) + " chars long", value));
    } else if (s.compiled != nullptr && !s.compiled->Matches(text)) {
      std::string why = s.compiled->error().empty() ? "" : ", but pattern is invalid: " + s.compiled->error();
      out.Add(Other(path, "should match '" + s.pattern + why + "'", value));
    }
    return out;
  }

  static Outcome CheckFormat(std::string_view format, const std::string& path, const Value& value) {
    Outcome out;
    if (!MatchesFormat(format, value.string_value())) out.Add(WrongType(path, format, value.string_value()));
    return out;
  }

  // Nothing, or that the number is out of its type's range.
  std::optional<Problem> CheckRange(const JsonSchema& s, const Value& v, std::string_view what, const std::string& path) const {
    bool single = !AllowsIntOrString(s);
    std::string_view format = EffectiveFormat(s, SchemaUse::kObjects);
    bool fits = true;
    std::string_view type = single && (s.type == "integer" || s.type == "number") ? std::string_view(s.type) : "";
    if (type == "integer") {
      fits = format == "int32" ? FitsInt(v, -2147483648.0, 2147483647.0)
                               : (v.is_int() || FitsInt(v, -9223372036854775808.0, 9223372036854774784.0));
    } else if (format == "float") {
      fits = std::fabs(v.double_value()) <= static_cast<double>(std::numeric_limits<float>::max());
    }
    if (fits) return {};
    std::string of = std::string(type) + (format.empty() || type.empty() ? " (default format)" : " with format " + std::string(format));
    return General(std::string(what) + " value must be of type " + of + " in " + path);
  }

  // The limit as a value of its own, for CheckRange.
  static Value AsValue(double limit) {
    if (limit == std::trunc(limit) && std::fabs(limit) < 9e15) return static_cast<std::int64_t>(limit);
    return limit;
  }

  Outcome CheckNumber(const JsonSchema& s, const std::string& path, const Value& value) const {
    Outcome out, multiple, minimum, maximum;
    if (auto p = CheckRange(s, value, "Checked", path)) out.Add(*std::move(p));
    // Integers are compared as such, if the limit is one of the type.
    auto native = [&](double limit, std::string_view what, Outcome& o) {
      if (auto p = CheckRange(s, AsValue(limit), what, path)) o.Add(*std::move(p));
      return o.ok() && value.is_int();
    };
    double d = value.double_value();
    if (s.multiple_of) {
      double factor = *s.multiple_of;
      if (native(factor, "MultipleOf", multiple)) {
        auto n = static_cast<std::int64_t>(factor);
        if (n <= 0) {
          multiple.Add({.kind = Problem::Kind::kOther,
                        .name = path,
                        .message = "factor MultipleOf declared for " + path + " must be positive: " + std::to_string(n),
                        .value = n});
        } else if (value.int_value() % n != 0) {
          multiple.Add(Other(path, "should be a multiple of " + std::to_string(n), value));
        }
      } else if (factor <= 0) {
        multiple.Add({.kind = Problem::Kind::kOther,
                      .name = path,
                      .message = "factor MultipleOf declared for " + path + " must be positive: " + PrintGoFloat(factor),
                      .value = factor});
      } else if (!IsJsonInteger(factor < 1 ? 1 / factor * d : d / factor)) {
        multiple.Add(Other(path, "should be a multiple of " + PrintGoFloat(factor), value));
      }
    }
    auto limit = [&](double bound, bool exclusive, bool is_maximum, std::string_view what, Outcome& o) {
      bool as_int = native(bound, what, o);
      int order = 0;
      std::string printed;
      if (as_int) {
        std::int64_t n = bound >= 9223372036854775808.0   ? std::numeric_limits<std::int64_t>::max()
                         : bound < -9223372036854775808.0 ? std::numeric_limits<std::int64_t>::min()
                                                          : static_cast<std::int64_t>(bound);
        order = value.int_value() < n ? -1 : (value.int_value() > n ? 1 : 0);
        printed = std::to_string(n);
      } else {
        order = d < bound ? -1 : (d > bound ? 1 : 0);
        printed = PrintGoFloat(bound);
      }
      bool bad = is_maximum ? order > 0 : order < 0;
      if (!bad && !(exclusive && order == 0)) return;
      std::string words = is_maximum ? "should be less than " : "should be greater than ";
      o.Add(Other(path, words + (exclusive ? "" : "or equal to ") + printed, value));
    };
    if (s.maximum) limit(*s.maximum, s.exclusive_maximum, true, "Maximum boundary", maximum);
    if (s.minimum) limit(*s.minimum, s.exclusive_minimum, false, "Minimum boundary", minimum);
    out.Merge(multiple);
    out.Merge(minimum);
    out.Merge(maximum);
    ++out.matches;
    return out;
  }

  Outcome CheckList(const JsonSchema& s, const std::string& path, const Value& value, const Value* old) const {
    Outcome out;
    const List<Value>& list = value.list();
    if (s.items != nullptr) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Value* before = old != nullptr && old->is_list() ? Correlate(s, *old, list[i]) : nullptr;
        out.Merge(Validate(*s.items, path + "[" + std::to_string(i) + "]", list[i], before));
      }
    }
    auto size = static_cast<std::int64_t>(list.size());
    if (s.min_items && size < *s.min_items) out.Add(Other(path, "should have at least " + std::to_string(*s.min_items) + " items", size));
    if (s.max_items && size > *s.max_items) {
      out.Add({.kind = Problem::Kind::kTooMany,
               .name = path,
               .message = path + " in body should have at most " + std::to_string(*s.max_items) + " items",
               .value = size,
               .limit = *s.max_items});
    }
    if (s.unique_items) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
            list.begin() + static_cast<std::ptrdiff_t>(i)) {
          out.Add(Other(path, "shouldn't contain duplicates", ""));
          break;
        }
      }
    }
    ++out.matches;
    return out;
  }

  static Outcome CheckEnum(const JsonSchema& s, const std::string& path, const Value& value) {
    Outcome out;
    if (s.enum_values.empty()) return out;
    std::vector<std::string> supported;
    std::string all;
    for (const Value& allowed : s.enum_values) {
      if (!value.is_null() && !allowed.is_null()) {
        if (value == allowed) return out;
        // Go converts before it compares.
        if (value.is_double() && allowed.is_int() && std::fabs(value.double_value()) < 9e18 &&
            static_cast<std::int64_t>(value.double_value()) == allowed.int_value()) {
          return out;
        }
      }
      supported.push_back(allowed.is_string() ? allowed.string_value().str() : ToJson(allowed));
      all += (all.empty() ? "" : " ") + supported.back();
    }
    out.Add({.kind = Problem::Kind::kEnum,
             .name = path,
             .message = path + " in body should be one of [" + all + "]",
             .value = value,
             .supported = std::move(supported)});
    return out;
  }

  Outcome CheckObject(const JsonSchema& s, const std::string& path, const Value& value, const Value* old) const {
    Outcome out;
    const Map<Value>& object = value.object();
    auto size = static_cast<std::int64_t>(object.size());
    if (s.min_properties && size < *s.min_properties) {
      out.Add(Other(path, "should have at least " + std::to_string(*s.min_properties) + " properties", size));
    }
    if (s.max_properties && size > *s.max_properties) {
      out.Add({.kind = Problem::Kind::kTooMany,
               .name = path,
               .message = path + " in body should have at most " + std::to_string(*s.max_properties) + " properties",
               .value = size,
               .limit = *s.max_properties});
    }
    const Map<Value>* before = old != nullptr && old->is_object() ? &old->object() : nullptr;
    for (const auto& [key, member] : object) {
      if (!s.has_additional || s.Property(key) != nullptr) continue;
      if (!s.additional_allowed) {
        out.Add({.kind = Problem::Kind::kOther,
                 .name = path,
                 .message = path + "." + key.str() + " in body is a forbidden property",
                 .value = key});
      } else if (s.additional != nullptr) {
        out.Merge(Validate(*s.additional, path + "." + key.str(), member, before != nullptr ? before->Find(key) : nullptr));
      }
    }
    for (const auto& [name, property] : s.properties) {
      const Value* member = object.Find(name);
      if (member == nullptr) continue;
      const Value* was = before != nullptr ? before->Find(name) : nullptr;
      if (path.empty() && (name == "kind" || name == "apiVersion")) was = nullptr;
      out.Merge(Validate(property, path.empty() ? name : path + "." + name, *member, was));
    }
    for (const std::string& name : s.required) {
      if (!object.contains(name)) {
        out.Add({.kind = Problem::Kind::kRequired, .name = path + "." + name, .message = path + "." + name + " in body is required"});
      }
    }
    return out;
  }
};

FieldError ToFieldError(const Problem& p, std::string_view root) {
  std::string field(root);
  std::string_view name = p.kind == Problem::Kind::kGeneral ? std::string_view() : std::string_view(p.name);
  if (!name.empty() && name != ".") {
    if (name[0] == '.') name.remove_prefix(1);
    if (!field.empty()) field += '.';
    field += name;
  }
  if (field.empty()) field = "<nil>";  // what Go calls the path to nowhere
  Value value = p.value.is_null() ? Value("") : p.value;
  switch (p.kind) {
    case Problem::Kind::kRequired:
      return Required(std::move(field));
    case Problem::Kind::kEnum:
      return NotSupported(std::move(field), p.value, p.supported);
    case Problem::Kind::kTooLong:
      return {FieldErrorType::kTooLong, std::move(field), "",
              "may not be more than " + std::to_string(p.limit) + (p.limit == 1 ? " byte" : " bytes")};
    case Problem::Kind::kTooMany:
      return TooMany(std::move(field), static_cast<std::size_t>(p.value.int_value()), static_cast<std::size_t>(p.limit));
    case Problem::Kind::kType:
      return {FieldErrorType::kTypeInvalid, std::move(field), QuoteGo(value.string_value()), p.message};
    case Problem::Kind::kOther:
    case Problem::Kind::kGeneral:
      return {FieldErrorType::kInvalid, std::move(field), value.is_string() ? QuoteGo(value.string_value()) : Plain(value), p.message};
  }
  return {};
}

}  // namespace

std::vector<FieldError> ValidateJson(const JsonSchema& schema, std::string_view root, const Value& value, const Value* old, SchemaUse use) {
  Outcome outcome = Validator(use).Validate(schema, "", value, old);
  std::vector<FieldError> out;
  for (const Problem& p : outcome.problems) out.push_back(ToFieldError(p, root));
  return out;
}

std::string PrintGoFloat(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Inf" : "+Inf";
  // The shortest digits, then the choice of %v between plain and exponent. (JSON's is another: it writes up to 1e21 plainly.)
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific);
  std::string text(buffer, end);
  std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 6) return text;
  char plain[400];
  auto [plain_end, plain_error] = std::to_chars(plain, plain + sizeof plain, d, std::chars_format::fixed);
  return std::string(plain, plain_end);
}

}  // namespace kube::apiserver

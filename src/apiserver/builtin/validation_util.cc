#include "apiserver/builtin/validation_util.h"

#include <algorithm>
#include <charconv>

#include "apiserver/builtin/server_form.h"
#include "apiserver/names.h"
#include "kube/codec/json.h"

namespace kube::apiserver::builtin {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsAlphanumeric(char c) { return IsDigit(c) || IsLower(c) || (c >= 'A' && c <= 'Z'); }

std::string RegexMessage(const std::string& rule, const std::string& regex, std::initializer_list<const char*> examples) {
  std::string out = rule + " (e.g. ";
  bool first = true;
  for (const char* e : examples) {
    if (!first) out += " or ";
    first = false;
    out += std::string("'") + e + "', ";
  }
  return out + "regex used for validation is '" + regex + "')";
}

std::string TooLongMessage(int limit) { return "must be no more than " + std::to_string(limit) + " characters"; }

void AddDotProblems(Problems& out, std::string_view text) {
  if (text == ".") {
    out.push_back("must not be '.'");
  } else if (text == "..") {
    out.push_back("must not be '..'");
  } else if (text.starts_with("..")) {
    out.push_back("must not start with '..'");
  }
}

bool IsPercent(std::string_view text) {
  return text.size() >= 2 && text.back() == '%' && std::all_of(text.begin(), text.end() - 1, IsDigit);
}

void CheckLabelName(Errors& errors, const std::string& path, const String& name) {
  AddProblems(errors, path, name, QualifiedNameProblems(name));
}

}  // namespace

Value ShownStruct(const TypeInfo& type, const void* object) {
  Result<Value> value = ToServerValue(type, object);
  return value ? *value : Value();
}

std::string InternalText(const TypeInfo& type, const void* object) {
  const Result<Value> value = ToValue(type, object);
  std::string out;
  auto write = [&](auto& self, const TypeInfo& part, const Value& of) -> void {
    for (const FieldInfo& field : part) {
      if (field.kind == FieldKind::kInline) {
        self(self, *field.type, of);
        continue;
      }
      std::string name(field.json_name);
      if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
      const Value& member = of[field.json_name];
      out += (out.back() == '{' ? "\"" : ",\"") + name + "\":";
      bool is_struct = field.kind == FieldKind::kMessage && (field.shape == FieldShape::kPlain || field.shape == FieldShape::kOptional);
      if (is_struct && member.is_object() && field.type != &meta::v1::LabelSelector::kType) {
        out += '{';
        self(self, *field.type, member);
        out += '}';
      } else if (member.is_null() && field.shape == FieldShape::kPlain && field.kind == FieldKind::kString) {
        out += "\"\"";
      } else {
        out += ToJson(member);
      }
    }
  };
  out = "{";
  write(write, type, value ? *value : Value());
  return out + "}";
}

Value Shown(const IntOrString& value) { return value.is_string() ? Value(value.string_value()) : Value(value.int_value()); }

Value Shown(const List<String>& values) {
  if (values.empty()) return {};
  Value out = Value::Array();
  for (const String& v : values) out.MutableList().push_back(v);
  return out;
}

void AddProblems(Errors& errors, const std::string& path, const Value& value, const Problems& problems) {
  for (const std::string& problem : problems) errors.push_back(InvalidValue(path, value, problem));
}

void CheckNonNegative(Errors& errors, const std::string& path, std::int64_t value) {
  if (value < 0) errors.push_back(InvalidValue(path, value, "must be greater than or equal to 0"));
}

void CheckPositive(Errors& errors, const std::string& path, std::int64_t value) {
  if (value <= 0) errors.push_back(InvalidValue(path, value, "must be greater than 0"));
}

void CheckEnum(Errors& errors, const std::string& path, const String& value, std::initializer_list<const char*> allowed, bool required) {
  if (value.empty()) {
    if (required) errors.push_back(Required(path));
    return;
  }
  if (std::any_of(allowed.begin(), allowed.end(), [&](const char* a) { return value == a; })) return;
  errors.push_back(NotSupported(path, value, std::vector<std::string>(allowed.begin(), allowed.end())));
}

void CheckPort(Errors& errors, const std::string& path, std::int64_t port) {
  if (port < 1 || port > 65535) errors.push_back(InvalidValue(path, port, "must be between 1 and 65535, inclusive"));
}

void CheckPortNumberOrName(Errors& errors, const std::string& path, const IntOrString& port) {
  if (port.is_string()) {
    AddProblems(errors, path, port.string_value(), PortNameProblems(port.string_value()));
  } else {
    CheckPort(errors, path, port.int_value());
  }
}

void CheckImmutable(Errors& errors, const std::string& path, const Value& value, bool same) {
  if (!same) errors.push_back(InvalidValue(path, value, "field is immutable"));
}

void CheckLabels(Errors& errors, const std::string& path, const Map<String>& labels) {
  for (const auto& [key, value] : labels) {
    CheckLabelName(errors, path, key);
    AddProblems(errors, path, value, LabelValueProblems(value));
  }
}

void CheckSelector(Errors& errors, const std::string& path, const meta::v1::LabelSelector& selector) {
  CheckLabels(errors, Child(path, "matchLabels"), selector.match_labels);
  for (std::size_t i = 0; i < selector.match_expressions.size(); ++i) {
    const auto& r = selector.match_expressions[i];
    const std::string at = Index(Child(path, "matchExpressions"), i);
    if (r.operator_ == "In" || r.operator_ == "NotIn") {
      if (r.values.empty()) errors.push_back(Required(Child(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (r.operator_ == "Exists" || r.operator_ == "DoesNotExist") {
      if (!r.values.empty()) {
        errors.push_back(ForbiddenField(Child(at, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else {
      errors.push_back(InvalidValue(Child(at, "operator"), r.operator_, "not a valid selector operator"));
    }
    CheckLabelName(errors, Child(at, "key"), r.key);
    for (std::size_t j = 0; j < r.values.size(); ++j) {
      AddProblems(errors, Index(Child(at, "values"), j), r.values[j], LabelValueProblems(r.values[j]));
    }
  }
}

bool IsEmptySelector(const meta::v1::LabelSelector& selector) {
  return selector.match_labels.empty() && selector.match_expressions.empty();
}

void CheckIntOrPercent(Errors& errors, const std::string& path, const IntOrString& value) {
  if (!value.is_string()) {
    CheckNonNegative(errors, path, value.int_value());
  } else if (!IsPercent(value.string_value())) {
    errors.push_back(
        InvalidValue(path, Shown(value),
                     RegexMessage("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", {"1%", "93%"})));
  }
}

int PercentOf(const IntOrString& value) {
  std::string_view text = value.string_value();
  if (!value.is_string() || !IsPercent(text)) return -1;
  int percent = -1;
  std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  return percent;
}

void CheckNotMoreThan100Percent(Errors& errors, const std::string& path, const IntOrString& value) {
  if (PercentOf(value) > 100) errors.push_back(InvalidValue(path, Shown(value), "must not be greater than 100%"));
}

Problems ConfigMapKeyProblems(std::string_view key) {
  Problems out;
  if (key.size() > 253) out.push_back(TooLongMessage(253));
  if (key.empty() || !std::all_of(key.begin(), key.end(), [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; })) {
    out.push_back(RegexMessage("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", "[-._a-zA-Z0-9]+",
                               {"key.name", "KEY_NAME", "key-name"}));
  }
  AddDotProblems(out, key);
  return out;
}

Problems PortNameProblems(std::string_view name) {
  Problems out;
  if (name.size() > 15) out.push_back(TooLongMessage(15));
  if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; })) {
    out.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(name.begin(), name.end(), IsLower)) out.push_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos) out.push_back("must not contain consecutive hyphens");
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) out.push_back("must not begin or end with a hyphen");
  return out;
}

Problems EnvNameProblems(std::string_view name) {
  Problems out;
  if (name.empty()) out.push_back("environment variable name must be non-empty");
  if (std::any_of(name.begin(), name.end(), [](char c) { return c < ' ' || c > '~' || c == '='; })) {
    out.push_back("a valid environment variable name must consist only of printable ASCII characters other than '='");
  }
  return out;
}

Problems HttpHeaderNameProblems(std::string_view name) {
  if (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return IsAlphanumeric(c) || c == '-'; })) return {};
  return {RegexMessage("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", {"X-Header-Name"})};
}

Problems WildcardSubdomainProblems(std::string_view name) {
  Problems out;
  if (name.size() > 253) out.push_back(TooLongMessage(253));
  if (!name.starts_with("*.") || !DnsSubdomainProblems(name.substr(2)).empty()) {
    out.push_back(
        RegexMessage("a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
                     "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
                     R"(\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)", {"*.example.com"}));
  }
  return out;
}

}  // namespace kube::apiserver::builtin

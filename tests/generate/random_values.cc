#include "random_values.h"

#include <algorithm>
#include <cmath>

namespace kube::generate {

bool Chance(Random& random, double p) { return static_cast<double>(random() >> 11) * 0x1p-53 < p; }

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::size_t Pick(Random& random, std::size_t count) {
  return static_cast<std::size_t>(Between(random, 0, static_cast<std::int64_t>(count) - 1));
}

std::int64_t Edge(Random& random, std::int64_t low, std::int64_t high) {
  if (Chance(random, 0.2)) return low;
  if (Chance(random, 0.25)) return high;
  if (Chance(random, 0.5)) {
    const std::int64_t near = Between(random, -2, 100);
    if (near >= low && near <= high) return near;
  }
  return Between(random, low, high);
}

std::size_t Runes(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string RandomText(Random& random, std::size_t least, std::size_t most) {
  static constexpr const char* kRunes[] = {"a",
                                           "b",
                                           "Z",
                                           "0",
                                           "9",
                                           "-",
                                           "_",
                                           ".",
                                           "/",
                                           ":",
                                           " ",
                                           "#",
                                           "'",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "\t",
                                           "{",
                                           "]",
                                           "<",
                                           "&",
                                           "\xc3\xa9",
                                           "\xe2\x82\xac",
                                           "\xf0\x9f\x98\x80",
                                           "\x01",
                                           "~",
                                           "%",
                                           "[",
                                           "$",
                                           "|",
                                           ">",
                                           "*",
                                           "!",
                                           "\r",
                                           "\x7f",
                                           "\xe2\x80\xa8",
                                           "\xef\xbb\xbf"};
  static constexpr const char* kWords[] = {"true", "null",       "1e3",  "0x1f", "yes", "- ", "app.kubernetes.io/name",
                                           "~",    "2026-01-01", "<nil>"};
  std::size_t length = least + Pick(random, std::min<std::size_t>(most - std::min(least, most), 8) + 1);
  if (Chance(random, 0.2)) length = least;
  if (Chance(random, 0.2) && most <= 300) length = most;
  if (Chance(random, 0.1)) {
    const std::string word = kWords[Pick(random, std::size(kWords))];
    if (word.size() >= least && word.size() <= most) return word;
  }
  std::string text;
  for (; length > 0; --length) text += Chance(random, 0.5) ? kRunes[Pick(random, 5)] : kRunes[Pick(random, std::size(kRunes))];
  return text;
}

std::string RandomQuantity(Random& random) {
  static constexpr const char* kSuffixes[] = {"", "m", "k", "M", "Ki", "Mi", "Gi", "n", "u", "e3", ".5", "E"};
  return std::to_string(Between(random, -9, 999)) + kSuffixes[Pick(random, std::size(kSuffixes))];
}

Value RandomJson(Random& random, int depth) {
  switch (Pick(random, depth > 4 ? 4 : 6)) {
    case 0:
      return RandomText(random, 0, 20);
    case 1:
      return Edge(random, INT64_MIN, INT64_MAX);
    case 2:
      return Chance(random, 0.5);
    case 3:
      return static_cast<double>(2 * Between(random, -1000000, 1000000) + 1) / 1024;
    case 4: {
      Value list = Value::Array();
      for (std::size_t n = Pick(random, 4); n > 0; --n) list.MutableList().push_back(RandomJson(random, depth + 1));
      return list;
    }
    default: {
      Value object = Value::Object();
      for (std::size_t n = Pick(random, 4); n > 0; --n) object[RandomText(random, 0, 10)] = RandomJson(random, depth + 1);
      return object;
    }
  }
}

namespace {

struct FormatTexts {
  std::string_view format;
  std::vector<const char*> good, bad;
};

// The first good text is its own canonical form.
const std::vector<FormatTexts>& Formats() {
  static const std::vector<FormatTexts> kFormats = {
      {"byte", {"aGVsbG8=", "AA==", "////"}, {"a", "a-b_", "AAA", "===="}},
      {"cidr", {"10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0", "::/0"}, {"10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "2001:db8::/129", ""}},
      {"date", {"2026-02-28", "2024-02-29"}, {"2025-02-29", "2026-1-01", "2026-13-01", "01.01.2026", ""}},
      {"date-time",
       {"2026-01-01T00:00:00Z", "2026-12-31T23:59:59.999999+14:00", "2024-02-29t12:00:00z", "1970-01-01T00:00:00-00:00"},
       {"yesterday", "2026-01-01", "2026-01-01T24:00:00Z", "2025-02-29T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z"}},
      {"duration", {"1h0m0s", "1m30s", "5 days", "3w", "1.5h", "0"}, {"x", "5", "1 fortnight", "-"}},
      {"email", {"a@example.com", "Jo <jo@example.com>"}, {"a", "a@", "@example.com", "a b@example.com", ""}},
      {"hostname", {"example.com", "a", "a-b.example"}, {"-a", "a..b", "a_b", ""}},
      {"ipv4", {"192.0.2.1", "255.255.255.255", "0.0.0.0"}, {"256.0.0.1", "1.2.3", "::1", "1.2.3.4.5", ""}},
      {"ipv6", {"2001:db8::1", "::", "::ffff:192.0.2.1"}, {"1.2.3.4", "2001:db8:::1", "g::", ""}},
      {"mac", {"00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301"}, {"00:00:5e:00:53", "00:00:5e:00:53:0g", ""}},
      {"password", {"secret"}, {}},
      {"uri", {"https://example.com/a?b=c", "/path", "urn:x:y"}, {"a", "", "://x", "http://a b/"}},
      {"uuid", {"3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3F2504E04F8941D39A0C0305E82C3301"}, {"3f2504e0-4f89-41d3-9a0c", "x", ""}},
  };
  return kFormats;
}

const FormatTexts* FindFormat(std::string_view format) {
  for (const FormatTexts& f : Formats()) {
    if (f.format == format) return &f;
  }
  return nullptr;
}

}  // namespace

std::span<const char* const> GoodTexts(std::string_view format) {
  const FormatTexts* found = FindFormat(format);
  return found != nullptr ? std::span<const char* const>(found->good) : std::span<const char* const>();
}

std::span<const char* const> BadTexts(std::string_view format) {
  const FormatTexts* found = FindFormat(format);
  return found != nullptr ? std::span<const char* const>(found->bad) : std::span<const char* const>();
}

bool IsEmptyValue(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
      return !value.bool_value();
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return value.double_value() == 0;
    case Value::Kind::kString:
      return value.string_value().empty();
    case Value::Kind::kList:
      return value.list().empty();
    case Value::Kind::kObject:
      return std::all_of(value.object().begin(), value.object().end(),
                         [](const MapEntry<Value>& member) { return IsEmptyValue(member.value); });
  }
  return false;
}

std::vector<const Value*> PartsOf(const Value& schema) {
  std::vector<const Value*> out = {&schema};
  for (const Value& part : schema["allOf"].list()) {
    for (const Value* below : PartsOf(part)) out.push_back(below);
  }
  return out;
}

std::optional<double> Largest(const std::vector<const Value*>& parts, const char* key) {
  std::optional<double> out;
  for (const Value* part : parts) {
    if (const Value* found = part->Find(key)) out = std::max(out.value_or(found->double_value()), found->double_value());
  }
  return out;
}

std::optional<double> Smallest(const std::vector<const Value*>& parts, const char* key) {
  std::optional<double> out;
  for (const Value* part : parts) {
    if (const Value* found = part->Find(key)) out = std::min(out.value_or(found->double_value()), found->double_value());
  }
  return out;
}

std::vector<Value> AllowedValues(const std::vector<const Value*>& parts) {
  std::vector<Value> out;
  bool first = true;
  for (const Value* part : parts) {
    const List<Value>& allowed = (*part)["enum"].list();
    if (allowed.empty()) continue;
    if (std::exchange(first, false)) {
      out.assign(allowed.begin(), allowed.end());
    } else {
      std::erase_if(out, [&](const Value& v) { return std::find(allowed.begin(), allowed.end(), v) == allowed.end(); });
    }
  }
  return out;
}

bool IsRepeated(const Value& schema, const List<Value>& list, const Value& item) {
  const std::string_view type = schema["x-kubernetes-list-type"].string_value();
  if (type == "set") return std::find(list.begin(), list.end(), item) != list.end();
  if (type != "map") return false;
  return std::any_of(list.begin(), list.end(), [&](const Value& other) {
    for (const Value& key : schema["x-kubernetes-list-map-keys"].list()) {
      const std::string_view name = key.string_value();
      const Value& otherwise = schema["items"]["properties"][name]["default"];
      const Value *a = other.Find(name), *b = item.Find(name);
      if (!((a != nullptr ? *a : otherwise) == (b != nullptr ? *b : otherwise))) return false;
    }
    return true;
  });
}

std::vector<OneOfGroup> OneOfGroups(const Value& schema) {
  std::vector<OneOfGroup> out;
  for (const Value& rule : schema["x-kubernetes-validations"].list()) {
    const std::string_view text = rule["rule"].string_value();
    const bool counts = text.starts_with("(has(self."), any = text.find("||has(self.") != std::string_view::npos;
    if (!counts && !any) continue;
    OneOfGroup group;
    for (std::size_t at = 0; (at = text.find("has(self.", at)) != std::string_view::npos;) {
      at += std::string_view("has(self.").size();
      group.fields.emplace_back(text.substr(at, text.find(')', at) - at));
    }
    group.least = any || text.ends_with("== 1") ? 1 : 0;
    group.most = any ? group.fields.size() : 1;
    out.push_back(std::move(group));
  }
  return out;
}

bool Hold(const std::vector<OneOfGroup>& groups, const std::set<std::string>& fields) {
  return std::all_of(groups.begin(), groups.end(), [&](const OneOfGroup& group) {
    const auto set = static_cast<std::size_t>(
        std::count_if(group.fields.begin(), group.fields.end(), [&](const std::string& field) { return fields.contains(field); }));
    return set >= group.least && set <= group.most;
  });
}

}  // namespace kube::generate

#include "generate/cel_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace kube::generate {
namespace {

// A name with a dot at its end stands for all functions below it; one with a dot at its beginning is a method.
struct Function {
  std::string_view name;
  int since;
};
constexpr auto kFunctions = std::to_array<Function>({
    {"optional.", 29}, {".hasValue", 29},  {".optFlatMap", 29},    {".optMap", 29},       {".orValue", 29},
    {"quantity", 29},  {"isQuantity", 29}, {"sets.", 30},          {"strings.quote", 30}, {".format", 30},
    {"ip", 31},        {"isIP", 31},       {"ip.isCanonical", 31}, {"cidr", 31},          {"isCIDR", 31},
    {"format.", 32},   {".existsOne", 33}, {".transformList", 33}, {".transformMap", 33}, {".transformMapEntry", 33},
    {"semver", 34},    {"isSemver", 34},   {"lists.range", 35},    {".distinct", 35},     {".flatten", 35},
    {".reverse", 35},  {".slice", 35},     {".sort", 35},          {".sortBy", 35},
});
constexpr int kOptionalSyntax = 29;
constexpr int kTwoVariables = 33;

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// The expression with spaces for the text of strings and for comments. Quotes stay.
std::string WithoutStrings(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("//")) {
      while (i < text.size() && text[i] != '\n') out[i++] = ' ';
      continue;
    }
    if (text[i] != '"' && text[i] != '\'') {
      ++i;
      continue;
    }
    std::size_t prefix = i;
    while (prefix > 0 && IsName(text[prefix - 1])) --prefix;
    const bool raw = text.substr(prefix, i - prefix).find_first_of("rR") != std::string_view::npos && i - prefix <= 2;
    const std::string three(3, text[i]);
    const std::string quote = text.substr(i).starts_with(three) ? three : std::string(1, text[i]);
    i += quote.size();
    while (i < text.size() && !text.substr(i).starts_with(quote)) {
      if (text[i] == '\\' && !raw && i + 1 < text.size()) out[i++] = ' ';
      out[i++] = ' ';
    }
    i = std::min(text.size(), i + quote.size());
  }
  return out;
}

// The name in front of a parenthesis, with the names and dots before it: "self.all.exists" has a dot in front if it continues a call.
std::string NameBefore(std::string_view text, std::size_t open) {
  std::string out;
  std::size_t at = open;
  for (bool name = true;; name = !name) {
    while (at > 0 && IsSpace(text[at - 1])) --at;
    const std::size_t end = at;
    if (name) {
      while (at > 0 && IsName(text[at - 1])) --at;
    } else if (at > 0 && text[at - 1] == '.') {
      --at;
    }
    if (at == end) return out;
    out.insert(0, text.substr(at, end - at));
  }
}

// The arguments of a call.
int CountArguments(std::string_view text, std::size_t open) {
  int depth = 0, commas = 0;
  bool any = false;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) break;
    if (depth == 1 && c == ',') ++commas;
    any = any || (i > open && !IsSpace(c));
  }
  return any ? commas + 1 : 0;
}

// Whether `called`, a path of names, is a call of this function.
bool IsCall(std::string_view called, std::string_view function) {
  if (function.starts_with('.')) return called.ends_with(function);
  if (function.ends_with('.')) return called.starts_with(function) && called.find('.', function.size()) == std::string_view::npos;
  return called == function;
}

}  // namespace

std::vector<CelFeature> FeaturesOf(std::string_view expression) {
  const std::string text = WithoutStrings(expression);
  std::vector<CelFeature> out;
  const auto add = [&](std::string what, int since) {
    if (std::none_of(out.begin(), out.end(), [&](const CelFeature& f) { return f.what == what; })) out.push_back({std::move(what), since});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '?') {
      // a.?b, a[?b], {?a: b}, [?a]: in `a ? b : c` none of these is in front.
      std::size_t before = i;
      while (before > 0 && IsSpace(text[before - 1])) --before;
      if (before > 0 && std::string_view(".[{,").find(text[before - 1]) != std::string_view::npos)
        add("optional syntax (?)", kOptionalSyntax);
    }
    if (text[i] != '(') continue;
    const std::string called = NameBefore(text, i);
    if (called.empty()) continue;
    const std::string name = called.substr(called.rfind('.') + 1);
    if ((name == "all" || name == "exists") && called.size() > name.size()) {
      if (CountArguments(text, i) == 3) add(fmt::format("{}(...) with two variables", name), kTwoVariables);
      continue;
    }
    // A namespace is more than a method of that name: format.uri(), 'x'.format().
    const Function* found = nullptr;
    for (const Function& function : kFunctions) {
      if (IsCall(called, function.name) && (found == nullptr || found->name.starts_with('.'))) found = &function;
    }
    if (found != nullptr) add(fmt::format("{}(...)", found->name.starts_with('.') ? name : called), found->since);
  }
  return out;
}

}  // namespace kube::generate

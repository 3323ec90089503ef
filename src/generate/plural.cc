#include "generate/plural.h"

#include <array>

namespace kube::generate {
namespace {

struct Pair {
  std::string_view one, many;
};

// Words that no rule below covers, as far as kinds are likely to be named by them.
constexpr auto kIrregular = std::to_array<Pair>({
    {"alias", "aliases"}, {"axis", "axes"},       {"child", "children"}, {"criterion", "criteria"}, {"data", "data"},
    {"half", "halves"},   {"hero", "heroes"},     {"index", "indices"},  {"knife", "knives"},       {"leaf", "leaves"},
    {"life", "lives"},    {"man", "men"},         {"media", "media"},    {"matrix", "matrices"},    {"metadata", "metadata"},
    {"mouse", "mice"},    {"news", "news"},       {"person", "people"},  {"quiz", "quizzes"},       {"series", "series"},
    {"shelf", "shelves"}, {"vertex", "vertices"}, {"woman", "women"},
});

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsVowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }
std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// The last word of a name in CamelCase, in lower case: "job" of "CronJob", "route" of "HTTPRoute".
std::string LastWord(std::string_view name) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < name.size(); ++i) {
    const bool next_is_small = i + 1 < name.size() && !IsUpper(name[i + 1]);
    if (IsUpper(name[i]) && (!IsUpper(name[i - 1]) || next_is_small)) begin = i;
  }
  return Lower(name.substr(begin));
}

}  // namespace

std::string PluralOf(std::string_view kind) {
  const std::string word = LastWord(kind), all = Lower(kind);
  for (const Pair& pair : kIrregular) {
    if (word == pair.many) return all;
    if (word == pair.one) return all.substr(0, all.size() - pair.one.size()) + std::string(pair.many);
  }
  auto ends = [&](auto... endings) { return (word.ends_with(endings) || ...); };
  if (ends('y') && word.size() > 1 && !IsVowel(word[word.size() - 2])) return all.substr(0, all.size() - 1) + "ies";  // policy, but key
  if (ends("sis")) return all.substr(0, all.size() - 2) + "es";                                                       // analysis
  if (ends("ss", "us", "x", "ch", "sh")) return all + "es";  // class, status, box, branch, mesh
  // An abbreviation in capitals is no plural: "DNS" has "dnses". Other words in s are plurals already: "Endpoints".
  if (ends('s')) return kind.ends_with('S') ? all + "es" : all;
  return all + "s";
}

}  // namespace kube::generate

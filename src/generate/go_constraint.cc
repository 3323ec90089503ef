// Which Go files are built: build constraints in comments and in names of files.
#include <algorithm>
#include <array>
#include <string>

#include "generate/go_parser.h"

namespace kube::generate {
namespace {

constexpr auto kSystems =
    std::to_array<std::string_view>({"aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux", "nacl",
                                     "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows", "zos"});
constexpr auto kProcessors = std::to_array<std::string_view>({"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le",
                                                              "mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "sparc64", "wasm"});

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HoldsTag(std::string_view tag) {
  // Releases of Go: any file of an API is built with the newest.
  return tag == "linux" || tag == "unix" || tag == "amd64" || tag == "gc" || tag == "cgo" || tag.starts_with("go1.");
}

// tag, !x, x && y, x || y, (x)
class Constraint {
 public:
  explicit Constraint(std::string_view text) : text_(text) {}
  bool Holds() { return Or(); }

 private:
  static constexpr int kMostDepth = 64;

  void Spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool Skip(std::string_view symbol) {
    Spaces();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool Or() {
    bool out = And();
    while (Skip("||")) out = And() || out;
    return out;
  }
  bool And() {
    bool out = Not();
    while (Skip("&&")) out = Not() && out;
    return out;
  }
  bool Not() {
    if (++depth_ > kMostDepth) {
      at_ = text_.size();
      return false;
    }
    bool out = false;
    if (Skip("!")) {
      out = !Not();
    } else if (Skip("(")) {
      out = Or();
      Skip(")");
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() && std::string_view(" \t\r!()&|").find(text_[at_]) == std::string_view::npos) ++at_;
      out = HoldsTag(text_.substr(begin, at_ - begin));
    }
    --depth_;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// `// +build linux,amd64 !js`: alternatives separated by blanks, of terms separated by commas.
bool OldConstraintHolds(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    std::string_view terms = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (terms.empty()) continue;
    bool all = true;
    while (!terms.empty()) {
      const std::size_t comma = std::min(terms.find(','), terms.size());
      std::string_view term = terms.substr(0, comma);
      terms.remove_prefix(std::min(comma + 1, terms.size()));
      const bool negated = term.starts_with('!');
      if (negated) term.remove_prefix(1);
      all = all && HoldsTag(term) != negated;
    }
    any = any || all;
  }
  return any;
}

bool NameIsBuilt(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const auto last = [&] {
    const std::size_t bar = name.rfind('_');
    const std::string_view part = bar == std::string_view::npos ? "" : name.substr(bar + 1);
    if (bar != std::string_view::npos) name = name.substr(0, bar);
    return part;
  };
  std::string_view part = last();
  if (Contains(kProcessors, part)) {
    if (part != "amd64") return false;
    part = last();
  }
  return !Contains(kSystems, part) || part == "linux";
}

}  // namespace

bool GoFileIsBuilt(std::string_view name, std::string_view text) {
  if (!NameIsBuilt(name)) return false;
  // Constraints stand in line comments before the package clause; a new one overrides old ones.
  bool old_ones = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.starts_with("/*")) {
      const std::size_t close = text.find("*/");
      if (line.find("*/") == std::string_view::npos && close != std::string_view::npos) text.remove_prefix(close + 2);
      continue;
    }
    if (line.starts_with("//go:build ")) return Constraint(line.substr(10)).Holds();
    if (line.starts_with("package ")) break;
    if (!line.starts_with("//")) continue;
    line.remove_prefix(2);
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    if (line.starts_with("+build ")) old_ones = OldConstraintHolds(line.substr(7)) && old_ones;
  }
  return old_ones;
}

}  // namespace kube::generate

#include "generate/problems.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kube::generate {

std::string Position::ToString() const {
  if (file == nullptr) return "";
  std::string out = *file;
  if (line > 0) out += ':' + std::to_string(line) + ':' + std::to_string(column);
  return out;
}

std::string Problem::ToString() const {
  std::string out = at.ToString();
  if (!out.empty()) out += ": ";
  if (warning) out += "warning: ";
  return out + text;
}

namespace {

// Texts quote the input, which may be anything.
std::string Printable(std::string text) {
  constexpr std::size_t kMostBytes = 1000;
  constexpr std::size_t kEnd = 250;  // where the remedy stands
  if (text.size() > kMostBytes) text.replace(kMostBytes - kEnd, text.size() - kMostBytes, " ... ");
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

void Problems::Error(const Position& at, std::string text) {
  ++errors_;
  Add({at, Printable(std::move(text)), false});
}

void Problems::Warning(const Position& at, std::string text) { Add({at, Printable(std::move(text)), true}); }

void Problems::Add(Problem problem) {
  if (problems_.size() >= kMostProblems) {
    ++dropped_;
    return;
  }
  problems_.push_back(std::move(problem));
}

std::vector<Problem> Problems::Sorted() const {
  std::vector<Problem> out = problems_;
  auto key = [](const Problem& p) {
    return std::tuple<std::string_view, int, int, std::string_view>(
        p.at.file != nullptr ? std::string_view(*p.at.file) : std::string_view(), p.at.line, p.at.column, p.text);
  };
  std::stable_sort(out.begin(), out.end(), [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  out.erase(std::unique(out.begin(), out.end(), [&](const Problem& a, const Problem& b) { return key(a) == key(b); }), out.end());
  return out;
}

std::string Problems::ToString() const {
  std::string out;
  for (const Problem& problem : Sorted()) out += problem.ToString() + '\n';
  if (dropped_ != 0) out += "... and " + std::to_string(dropped_) + " more\n";
  return out;
}

}  // namespace kube::generate

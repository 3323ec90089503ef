#include "generate/comment_text.h"

namespace kube::generate {
namespace {

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n\v\f").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}
std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n\v\f").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  return TrimRight(text);
}

bool IsBlock(const Comment& comment) { return comment.text.starts_with("/*"); }

// Behind `//`, and behind the third character of `///` and `//!`.
std::string_view LineBody(std::string_view text) {
  text.remove_prefix(2);
  if (!text.empty() && (text.front() == '/' || text.front() == '!')) text.remove_prefix(1);
  return text;
}

void AddBlock(std::string_view text, std::vector<std::string>& lines) {
  text.remove_prefix(2);
  if (text.ends_with("*/")) text.remove_suffix(2);
  if (text.starts_with('*') || text.starts_with('!')) text.remove_prefix(1);
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = Trim(text.substr(0, end));
    if (line == "*") {
      line = "";
    } else if (line.starts_with("* ")) {
      line = Trim(line.substr(2));
    }
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

bool IsFence(std::string_view line) { return line.starts_with("```") || line.starts_with("~~~"); }

}  // namespace

std::string_view MarkerText(const Comment& comment) {
  if (IsBlock(comment)) return "";
  const std::string_view text = Trim(LineBody(comment.text));
  if (text.size() < 2 || text[0] != '+') return "";
  const char c = text[1];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? text : std::string_view();
}

std::string DescriptionOf(const std::vector<const Comment*>& group) {
  std::vector<std::string> lines;
  for (const Comment* comment : group) {
    if (IsBlock(*comment)) {
      AddBlock(comment->text, lines);
    } else if (MarkerText(*comment).empty()) {
      std::string_view body = LineBody(comment->text);
      if (body.starts_with(' ')) body.remove_prefix(1);
      lines.emplace_back(TrimRight(body));
    }
  }
  // Empty lines at both ends go.
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  auto begin = lines.begin();
  while (begin != lines.end() && begin->empty()) ++begin;

  std::string out;
  bool fenced = false, first = true;
  for (; begin != lines.end(); ++begin) {
    const std::string& line = *begin;
    if (IsFence(line)) fenced = !fenced;
    if (!fenced && line.starts_with("TODO")) continue;
    if (!fenced && line.starts_with("---")) break;
    if (!first) out += '\n';
    out += line;
    first = false;
  }
  return out;
}

}  // namespace kube::generate

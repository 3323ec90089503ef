#include "generate/markdown.h"

#include <algorithm>

#include "kube/codec/json.h"

namespace kube::generate {
namespace {

// How many backticks stand at `at`.
std::size_t Ticks(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of('`', at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

// Behind the code span that begins at `at`; npos if it does not end.
std::size_t CodeEnd(std::string_view text, std::size_t at) {
  const std::size_t ticks = Ticks(text, at);
  for (std::size_t i = at + ticks; (i = text.find('`', i)) != std::string_view::npos; i += Ticks(text, i)) {
    if (Ticks(text, i) == ticks) return i + ticks;
  }
  return std::string_view::npos;
}

// Escapes what HTML and, in a cell, the table would read. Code spans show entities as they are, so only `|` is escaped in them.
std::string Escape(std::string_view text, bool cell) {
  std::string out;
  std::size_t code_end = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '`' && i >= code_end) {
      const std::size_t end = CodeEnd(text, i);
      if (end == std::string_view::npos) {  // no code
        const std::size_t ticks = Ticks(text, i);
        for (std::size_t n = 0; n < ticks; ++n) out += "\\`";
        i += ticks;
        continue;
      }
      code_end = end;
    }
    ++i;
    if (c == '|' && cell) {
      out += "\\|";
    } else if (i <= code_end) {
      out += c;
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    at = end + 1;
  }
  return out;
}

std::string_view Trimmed(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return line.substr(start, line.find_last_not_of(" \t") - start + 1);
}

bool IsListItem(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")) return true;
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos &&
         (line.substr(digits).starts_with(". ") || line.substr(digits).starts_with(") "));
}

}  // namespace

std::string MarkdownCell(std::string_view text) {
  std::string joined;
  bool paragraph = false;
  for (std::string_view line : Lines(text)) {
    line = Trimmed(line);
    if (line.empty()) {
      paragraph = !joined.empty();
      continue;
    }
    if (!joined.empty()) joined += paragraph ? "\n\n" : IsListItem(line) ? "\n" : " ";
    joined += line;
    paragraph = false;
  }
  std::string out;
  for (char c : Escape(joined, true)) {
    if (c == '\n') {
      out += "<br>";
    } else {
      out += c;
    }
  }
  return out;
}

std::string MarkdownBlock(std::string_view text) {
  std::string out, prose;
  bool fenced = false;
  auto flush = [&] {
    out += Escape(prose, false);
    prose.clear();
  };
  for (std::string_view line : Lines(text)) {
    std::string_view content = Trimmed(line);
    if (content.starts_with("```")) {
      flush();
      fenced = !fenced;
      out += line;
      out += '\n';
    } else if (fenced) {
      out += line;
      out += '\n';
    } else {
      // No heading, neither above nor below, and no rule.
      const bool heading = content.starts_with('#') || content.starts_with('=') || content.find_first_not_of('-') == std::string_view::npos;
      if (heading && !content.empty()) prose += '\\';
      prose += heading ? content : line;
      prose += '\n';
    }
  }
  flush();
  while (out.ends_with("\n\n")) out.pop_back();
  if (fenced) out += "```\n";
  return out;
}

std::string MarkdownCode(std::string_view text, bool cell) {
  std::size_t longest = 0;
  std::string content;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`' && (i == 0 || text[i - 1] != '`')) longest = std::max(longest, Ticks(text, i));
    if (text[i] == '|' && cell) content += '\\';
    content += text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
  }
  const std::string ticks(longest + 1, '`');
  const bool spaced = content.empty() || content.front() == '`' || content.back() == '`';
  return ticks + (spaced ? " " : "") + content + (spaced ? " " : "") + ticks;
}

std::string MarkdownValue(const Value& value) {
  if (value.is_string() && !value.string_value().empty()) return MarkdownCode(value.string_value());
  return MarkdownCode(ToJson(value));
}

std::string Anchors::Next(std::string_view heading) {
  std::string base;
  for (char c : heading) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ') c = '-';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (kept) base += c;
  }
  std::string out = base;
  for (int n = 1; std::find(taken_.begin(), taken_.end(), out) != taken_.end(); ++n) out = base + "-" + std::to_string(n);
  taken_.push_back(out);
  return out;
}

}  // namespace kube::generate

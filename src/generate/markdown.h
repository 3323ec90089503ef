// Text for Markdown pages: descriptions and values that must not become markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.h"

namespace kube::generate {

// For a cell of a table: one line, `|` and `<` escaped. Paragraphs and list items are kept apart with <br>.
std::string MarkdownCell(std::string_view text);

// For a place of its own: `<` escaped, no headings. Code fences stay, and are closed.
std::string MarkdownBlock(std::string_view text);

// `text` as code, whatever backticks it has. In a cell, `|` is escaped.
std::string MarkdownCode(std::string_view text, bool cell = true);

// A JSON value as code, for a cell; strings without quotes.
std::string MarkdownValue(const Value& value);

// The anchors of headings, as GitHub makes them: in lower case, without punctuation, numbered if one occurs again.
class Anchors {
 public:
  // The anchor of the next heading on the page.
  std::string Next(std::string_view heading);

 private:
  std::vector<std::string> taken_;
};

}  // namespace kube::generate

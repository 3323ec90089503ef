// Selector::Parse: the grammar of label selector strings.
#include <algorithm>
#include <vector>

#include "kube/meta/selector.h"
#include "kube/meta/validation.h"
#include "value/quote.h"

namespace kube {

namespace {

enum class Token : std::uint8_t { kEnd, kWord, kComma, kOpen, kClose, kNot, kEquals, kDoubleEquals, kNotEquals, kGreater, kLess };

struct Lexeme {
  Token token = Token::kEnd;
  std::string_view text;
  std::size_t offset = 0;
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSymbol(char c) { return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { Advance(); }

  Result<List<LabelRequirement>> Parse() {
    List<LabelRequirement> requirements;
    if (next_.token == Token::kEnd) return requirements;
    for (;;) {
      if (next_.token != Token::kWord && next_.token != Token::kNot) return Expected("a label key or '!'");
      Result<LabelRequirement> requirement = ParseRequirement();
      if (!requirement) return requirement.error();
      requirements.push_back(*std::move(requirement));
      if (next_.token == Token::kEnd) return requirements;
      if (next_.token != Token::kComma) return Expected("',' or the end");
      Advance();
    }
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  Lexeme next_;

  // Reads the next lexeme. `in` and `notin` are words; only if an operator is due do they mean more.
  void Advance() {
    while (position_ < text_.size() && IsBlank(text_[position_])) ++position_;
    std::size_t start = position_;
    if (start == text_.size()) {
      next_ = {Token::kEnd, {}, start};
      return;
    }
    Token token = Token::kWord;
    if (!IsSymbol(text_[start])) {
      while (position_ < text_.size() && !IsBlank(text_[position_]) && !IsSymbol(text_[position_])) ++position_;
    } else {
      ++position_;
      bool equals_follows = position_ < text_.size() && text_[position_] == '=';
      switch (text_[start]) {
        case '=':
          token = equals_follows ? Token::kDoubleEquals : Token::kEquals;
          break;
        case '!':
          token = equals_follows ? Token::kNotEquals : Token::kNot;
          break;
        case '(':
          token = Token::kOpen;
          break;
        case ')':
          token = Token::kClose;
          break;
        case ',':
          token = Token::kComma;
          break;
        case '>':
          token = Token::kGreater;
          break;
        default:
          token = Token::kLess;
          break;
      }
      if (token == Token::kDoubleEquals || token == Token::kNotEquals) ++position_;
    }
    next_ = {token, text_.substr(start, position_ - start), start};
  }

  static Error At(std::size_t offset, const std::string& what) {
    return Error::Invalid("label selector: offset " + std::to_string(offset) + ": " + what);
  }
  Error Expected(std::string_view what) const {
    std::string message = "expected ";
    message += what;
    message += next_.token == Token::kEnd ? std::string(", found the end") : ", found " + internal::Quote(next_.text);
    return At(next_.offset, message);
  }

  Result<LabelRequirement> ParseRequirement() {
    bool negated = next_.token == Token::kNot;
    if (negated) Advance();
    if (next_.token != Token::kWord) return Expected("a label key");
    Lexeme key = next_;
    // Before the operator is looked at, so that the message is about what comes first.
    if (auto r = ValidateLabelKey(key.text); !r) return At(key.offset, r.error().ToString());
    Advance();
    if (negated) return Make(key, SelectorOperator::kDoesNotExist, {});
    if (next_.token == Token::kEnd || next_.token == Token::kComma) return Make(key, SelectorOperator::kExists, {});

    std::optional<SelectorOperator> op = OperatorOf(next_);
    if (!op) return Expected("one of in, notin, =, ==, !=, >, <");
    Advance();
    if (*op != SelectorOperator::kIn && *op != SelectorOperator::kNotIn) {
      std::vector<Lexeme> value = {{Token::kWord, {}, next_.offset}};
      if (next_.token != Token::kEnd && next_.token != Token::kComma) {
        if (next_.token != Token::kWord) return Expected("a label value");
        value[0] = next_;
        Advance();
      }
      return Make(key, *op, value);
    }
    std::vector<Lexeme> values;
    if (auto r = ParseValues(values); !r) return r.error();
    return Make(key, *op, values);
  }

  static std::optional<SelectorOperator> OperatorOf(const Lexeme& lexeme) {
    switch (lexeme.token) {
      case Token::kEquals:
        return SelectorOperator::kEquals;
      case Token::kDoubleEquals:
        return SelectorOperator::kDoubleEquals;
      case Token::kNotEquals:
        return SelectorOperator::kNotEquals;
      case Token::kGreater:
        return SelectorOperator::kGreaterThan;
      case Token::kLess:
        return SelectorOperator::kLessThan;
      case Token::kWord:
        if (lexeme.text == "in") return SelectorOperator::kIn;
        if (lexeme.text == "notin") return SelectorOperator::kNotIn;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // "(a, b)": a value may be missing anywhere and is then empty.
  Result<void> ParseValues(std::vector<Lexeme>& values) {
    if (next_.token != Token::kOpen) return Expected("'('");
    Advance();
    for (;;) {
      if (next_.token == Token::kWord) {
        values.push_back(next_);
        Advance();
      } else if (next_.token == Token::kComma || next_.token == Token::kClose) {
        values.push_back({Token::kWord, {}, next_.offset});
      } else {
        return Expected("a label value, ',' or ')'");
      }
      if (next_.token == Token::kClose) break;
      if (next_.token != Token::kComma) return Expected("',' or ')'");
      Advance();
    }
    Advance();
    return {};
  }

  // Sorts the values and drops repeated ones.
  static Result<LabelRequirement> Make(const Lexeme& key, SelectorOperator op, std::vector<Lexeme> values) {
    for (const Lexeme& value : values) {
      if (auto r = ValidateLabelValue(value.text); !r) return At(value.offset, r.error().ToString());
    }
    std::sort(values.begin(), values.end(), [](const Lexeme& a, const Lexeme& b) { return a.text < b.text; });
    List<String> texts;
    for (const Lexeme& value : values) {
      if (texts.empty() || std::as_const(texts).back() != value.text) texts.push_back(String(value.text));
    }
    Result<LabelRequirement> r = LabelRequirement::Create(key.text, op, std::move(texts));
    if (!r) return At(values.empty() ? key.offset : values[0].offset, r.error().ToString());
    return r;
  }
};

}  // namespace

Result<Selector> Selector::Parse(std::string_view text) {
  Result<List<LabelRequirement>> requirements = Parser(text).Parse();
  if (!requirements) return requirements.error();
  return FromRequirements(*std::move(requirements));
}

}  // namespace kube

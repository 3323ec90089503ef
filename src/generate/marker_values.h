// The values of markers: a scanner over the text behind `=`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generate/markers.h"
#include "kube/value/value.h"

namespace kube::generate {

// Reads one value after the other. The first error stops it: then error() says why, and nothing more is read.
class MarkerScanner {
 public:
  explicit MarkerScanner(std::string_view text) : text_(text) {}

  // A value of this type. What follows it is left: a comma, or the end.
  Value Read(ArgumentType type);
  // `name=`.
  std::string_view ReadName();
  // True at the end, behind spaces.
  bool AtEnd();
  // Skips the symbol. False if another one stands there.
  bool Skip(char symbol);
  std::string_view rest() const { return text_.substr(at_); }
  const std::string& error() const { return error_; }

 private:
  enum class Guess { kString, kNumber, kBool, kList, kMap };

  char Peek();  // behind spaces; '\0' at the end
  Value Fail(std::string why);
  Value ReadString(bool in_map);
  Value ReadNumber(bool integer);
  Value ReadBool();
  // `alike`: all items have the type of the first one, as in a value whose type is guessed.
  Value ReadList(ArgumentType item, bool alike = false);
  Value ReadMap();
  Value ReadAny(bool in_list);
  Value ReadGuessed(Guess guess);
  Guess GuessHere() const;
  bool IsLegacyList() const;
  // Behind a quoted string, a word or one other character; npos if a quoted string does not end.
  std::size_t TokenEnd(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

}  // namespace kube::generate

// Writes JSON text, compact or indented.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kube::internal {

class JsonWriter {
 public:
  // Writes each byte that is not valid UTF-8 as U+FFFD, or unchanged.
  enum class BadBytes : std::uint8_t { kReplace, kAsTheyAre };
  JsonWriter(std::string& out, int indent, BadBytes bad_bytes = BadBytes::kReplace)
      : out_(out), indent_(indent), keeps_bytes_(bad_bytes == BadBytes::kAsTheyAre) {}
  bool keeps_bytes() const { return keeps_bytes_; }

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginList() { Begin('['); }
  void EndList() { End(']'); }
  // Called before each member of an object (with its name) or element of a list.
  void Name(std::string_view name) {
    Separate();
    String(name);
    out_ += ':';
    if (indent_ != 0) out_ += ' ';
  }
  void Element() { Separate(); }

  void String(std::string_view text);
  void Int(std::int64_t n);
  void Double(double d);
  void Bool(bool b) { out_ += b ? "true" : "false"; }
  void Null() { out_ += "null"; }
  // Writes text that needs no escapes.
  void Plain(std::string_view text) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  }
  // Writes members of an object, `"a":1,"b":2`, or one value: compact JSON that was validated before. Indents it if required.
  void RawMembers(std::string_view members);
  void Raw(std::string_view value);

  std::string& out() { return out_; }

 private:
  std::string& out_;
  const int indent_;
  const bool keeps_bytes_;
  int depth_ = 0;
  bool first_ = true;

  void Begin(char c) {
    out_ += c;
    ++depth_;
    first_ = true;
  }
  void End(char c) {
    --depth_;
    if (!first_) NewLine();
    out_ += c;
    first_ = false;
  }
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
    NewLine();
  }
  void NewLine() {
    if (indent_ == 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth_ * indent_), ' ');
  }
  void Pretty(std::string_view compact);
};

}  // namespace kube::internal

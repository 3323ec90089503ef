// Types of members, as they are written. What the names mean is looked up later: resolve.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "generate/header_parser.h"

namespace kube::generate {
namespace {

constexpr int kMostTypeDepth = 16;

constexpr auto kFundamental =
    std::to_array<std::string_view>({"unsigned", "signed", "long", "short", "int", "char", "float", "double", "bool", "wchar_t"});

bool IsFundamental(std::string_view name) { return std::find(kFundamental.begin(), kFundamental.end(), name) != kFundamental.end(); }

}  // namespace

bool HeaderParser::ReadQualifiedName(std::string& out) {
  out.clear();
  if (Skip("::")) out = "::";
  while (AtName()) {
    out += Here().text;
    Advance();
    if (!At("::") || Here(1).kind != TokenKind::kName) return true;
    out += "::";
    Advance();
  }
  return false;
}

bool HeaderParser::ReadType(Type& out, int depth) {
  const Token first = Here();
  out.at = stream_.At(first);
  if (depth > kMostTypeDepth) {
    Error(first, "type nested too deeply; give the inner part a name with `using`");
    return false;
  }
  if (At("typename") || At("struct") || At("class") || At("enum")) Advance();
  if (At("const") || At("volatile")) {
    Error(first, fmt::format("{} type; leave it out, so that the member can be written", first.text));
    return false;
  }
  if (AtName() && IsFundamental(Here().text)) {
    while (AtName() && IsFundamental(Here().text)) {
      out.name += (out.name.empty() ? "" : " ") + std::string(Here().text);
      Advance();
    }
  } else if (!ReadQualifiedName(out.name)) {
    Error(first, "expected a type");
    return false;
  }
  if (Skip("<")) {
    // Several arguments are those of std::map and its like, which resolve.cc refuses; the last one is what a kube::Map would hold.
    do {
      Type element;
      if (Here().kind == TokenKind::kNumber) {
        Advance();
        continue;
      }
      if (!ReadType(element, depth + 1)) return false;
      out.element = std::make_shared<const Type>(std::move(element));
    } while (Skip(","));
    if (!Skip(">")) {
      Error(Here(), fmt::format("template arguments of {} that are not understood", out.name));
      return false;
    }
  }
  if (At("*") || At("&")) {
    const bool pointer = At("*");
    Error(Here(), fmt::format("{}; write kube::Box<{}> for an optional struct, std::optional<{}> for an optional scalar",
                              pointer ? "pointer" : "reference", out.name, out.name));
    return false;
  }
  return true;
}

}  // namespace kube::generate

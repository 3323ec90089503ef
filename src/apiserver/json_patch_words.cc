#include "apiserver/json_patch_words.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "kube/codec/patch.h"

namespace kube::apiserver {
namespace {

// Patches with more missing members than this are refused at the next one.
constexpr int kMostAdded = 64;

std::string_view LastPart(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string Unescaped(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '~' || i + 1 == part.size()) {
      out += part[i];
    } else {
      out += part[++i] == '1' ? '/' : '~';
    }
  }
  return out;
}

// What has, or would have, the member at `path`; null if there is nothing.
const Value* ParentOf(const Value& document, std::string_view path) {
  const Value* at = &document;
  if (path.empty() || path[0] != '/') return nullptr;
  path.remove_prefix(1);
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const std::string part = Unescaped(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (at->is_object()) {
      at = at->Find(part);
    } else if (at->is_list()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || end != part.data() + part.size() || index >= at->list().size()) return nullptr;
      at = &at->list()[index];
    } else {
      return nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at->is_object() || at->is_list() ? at : nullptr;
}

Value FirstOf(const Value& patch, std::size_t count) {
  Value out = Value::Array();
  for (std::size_t i = 0; i < count; ++i) out.MutableList().push_back(patch.list()[i]);
  return out;
}

// How many operations from the first apply one after the other. The limits of ApplyJsonPatch count for all of them together, so they are
// not applied one by one. Requires: not all apply.
std::size_t CountApplied(const Value& document, const Value& patch) {
  std::size_t good = 0, bad = patch.list().size();
  while (good + 1 < bad) {
    const std::size_t middle = good + (bad - good) / 2;
    (ApplyJsonPatch(document, FirstOf(patch, middle)).ok() ? good : bad) = middle;
  }
  return good;
}

std::string Words(const Value& operation, bool parent, const std::string& otherwise) {
  const std::string_view op = operation["op"].string_value(), path = operation["path"].string_value();
  if (op == "test") return fmt::format("testing value {} failed: test failed", path);
  if (op == "add" && !parent) return fmt::format("add operation does not apply: doc is missing path: \"{}\": missing value", path);
  if (op == "remove" && !parent) return fmt::format("remove operation does not apply: doc is missing path: \"{}\": missing value", path);
  if (op == "remove") {
    return fmt::format("error in remove for path: '{}': Unable to remove nonexistent key: {}: missing value", path, LastPart(path));
  }
  if (op == "replace" && !parent) return fmt::format("replace operation does not apply: doc is missing path: {}: missing value", path);
  if (op == "add" || op == "replace" || op == "move" || op == "copy") return otherwise;
  return fmt::format("Unexpected kind: {}", op);
}

}  // namespace

Result<Value> ApplyServerPatch(const Value& document, Value patch) {
  for (int added = 0;; ++added) {
    Result<Value> patched = ApplyJsonPatch(document, patch);
    if (patched || !patch.is_list() || std::as_const(patch).list().empty()) return patched;
    const std::size_t failed = CountApplied(document, patch);
    const Value before = ApplyJsonPatch(document, FirstOf(patch, failed)).value_or(Value());
    const Value& operation = std::as_const(patch).list()[failed];
    const std::string_view path = operation["path"].string_value();
    const Value* parent = ParentOf(before, path);
    const bool adds = operation["op"].string_value() == "replace" && parent != nullptr && parent->is_object() &&
                      parent->Find(Unescaped(LastPart(path))) == nullptr && operation.Find("value") != nullptr;
    if (!adds || added == kMostAdded) return Error::Invalid(Words(operation, parent != nullptr, patched.error().message()));
    patch.MutableList()[failed]["op"] = "add";
  }
}

}  // namespace kube::apiserver

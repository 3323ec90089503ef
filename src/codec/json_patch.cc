// JSON Patch (RFC 6902) over JSON Pointer (RFC 6901).
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/json_patch_of.h"
#include "codec/json_size.h"
#include "kube/codec/hash.h"
#include "kube/codec/patch.h"
#include "value/quote.h"

namespace kube {
namespace {

using internal::Quote;

using Pointer = std::vector<std::string>;

Result<Pointer> ParsePointer(std::string_view text) {
  Pointer tokens;
  if (text.empty()) return tokens;
  if (text[0] != '/') return Error::Invalid("a JSON pointer starts with '/' or is empty, not " + Quote(text));
  // Deeper places cannot exist, and must not come to exist.
  if (std::count(text.begin(), text.end(), '/') > kMaxDecodeDepth) return Error::Invalid("path is too deep");
  std::string token;
  for (std::size_t i = 1; i < text.size(); ++i) {
    char c = text[i];
    if (c == '/') {
      tokens.push_back(std::exchange(token, {}));
    } else if (c != '~') {
      token += c;
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      token += text[++i] == '0' ? '~' : '/';
    } else {
      return Error::Invalid("'~' in a JSON pointer is followed by 0 or 1: " + Quote(text));
    }
  }
  tokens.push_back(std::move(token));
  return tokens;
}

void AppendToken(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

// The index that a token means in a list. `end` is the first that is too large.
Result<std::size_t> ParseIndex(const std::string& token, std::size_t end) {
  bool digits = !token.empty() && std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (token.size() > 1 && token[0] == '0')) return Error::Invalid(Quote(token) + " is not an index of a list");
  std::size_t index = 0;
  auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || index >= end) return Error::Invalid("index " + token + " is beyond the end of the list");
  return index;
}

// The value at tokens[0, depth), or an error that says why there is none.
Result<const Value*> Find(const Value& root, const Pointer& tokens, std::size_t depth) {
  const Value* at = &root;
  for (std::size_t i = 0; i < depth; ++i) {
    if (at->is_object()) {
      at = at->Find(tokens[i]);
      if (at == nullptr) return Error::Invalid("path does not exist");
    } else if (at->is_list()) {
      Result<std::size_t> index = ParseIndex(tokens[i], at->list().size());
      if (!index) return index.error();
      at = &at->list()[*index];
    } else {
      return Error::Invalid("path does not exist");
    }
  }
  return at;
}

// The same for writing. Requires: Find found it.
Value& FindMutable(Value& root, const Pointer& tokens, std::size_t depth) {
  Value* at = &root;
  for (std::size_t i = 0; i < depth; ++i) {
    if (at->is_object()) {
      at = &at->MutableObject()[tokens[i]];
    } else {
      List<Value>& list = at->MutableList();
      at = &list[*ParseIndex(tokens[i], list.size())];
    }
  }
  return *at;
}

// One application of a patch.
class Application {
 public:
  Application(const Value& document, const JsonPatchLimits& limits)
      : document_(document), limits_(limits), depth_bound_(internal::Depth(document, kMaxDecodeDepth)) {}

  Result<void> Run(const Value& operation) {
    if (!operation.is_object()) return Error::Invalid("expected an object, got " + std::string(operation.kind_name()));
    const String& op = operation["op"].string_value();
    const Value* path_text = operation.Find("path");
    if (path_text == nullptr || !path_text->is_string()) return Error::Invalid("`path` is missing or no string");
    Result<Pointer> path = ParsePointer(path_text->string_value());
    if (!path) return path.error();

    if (op == "add" || op == "replace" || op == "test") {
      const Value* value = operation.Find("value");
      if (value == nullptr) return Error::Invalid("`value` is missing");
      if (op == "test") return Test(*path, *value);
      if (auto r = CheckDepth(path->size(), *value); !r) return r;
      return op == "add" ? Add(*path, *value) : Replace(*path, *value);
    }
    if (op == "remove") return Remove(*path);
    if (op == "move" || op == "copy") {
      const Value* from_text = operation.Find("from");
      if (from_text == nullptr || !from_text->is_string()) return Error::Invalid("`from` is missing or no string");
      Result<Pointer> from = ParsePointer(from_text->string_value());
      if (!from) return from.error().WithContext("from");
      return op == "move" ? Move(*from, *path) : Copy(*from, *path);
    }
    if (operation.Find("op") == nullptr) return Error::Invalid("`op` is missing");
    return Error::Invalid("unknown operation");
  }

  Value Take() { return std::move(document_); }

 private:
  Value document_;
  JsonPatchLimits limits_;
  std::size_t copied_ = 0;
  // Never less than the document's depth. Exact only where it matters: measuring at every operation would cost too much.
  std::size_t depth_bound_;

  Result<void> CheckDepth(std::size_t tokens, const Value& value) {
    if (tokens >= kMaxDecodeDepth) return Error::Invalid("the document would be nested too deeply");
    std::size_t allowed = kMaxDecodeDepth - tokens;
    std::size_t depth = internal::Depth(value, allowed + 1);
    if (depth > allowed) return Error::Invalid("the document would be nested too deeply");
    depth_bound_ = std::max(depth_bound_, tokens + depth);
    return {};
  }

  Result<void> Add(const Pointer& path, Value value) {
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    Result<const Value*> parent = Find(document_, path, path.size() - 1);
    if (!parent) return Error::Invalid("parent of the path: " + parent.error().message());
    const std::string& last = path.back();
    if ((*parent)->is_object()) {
      FindMutable(document_, path, path.size() - 1).MutableObject()[last] = std::move(value);
      return {};
    }
    if (!(*parent)->is_list()) return Error::Invalid("parent of the path is neither object nor list");
    std::size_t size = (*parent)->list().size();
    Result<std::size_t> index = last == "-" ? Result<std::size_t>(size) : ParseIndex(last, size + 1);
    if (!index) return index.error();
    FindMutable(document_, path, path.size() - 1).MutableList().insert(*index, std::move(value));
    return {};
  }

  Result<void> Remove(const Pointer& path) {
    if (path.empty()) return Error::Invalid("the whole document cannot be removed");
    if (auto found = Find(document_, path, path.size()); !found) return found.error();
    Value& parent = FindMutable(document_, path, path.size() - 1);
    if (parent.is_object()) {
      parent.MutableObject().Erase(path.back());
    } else {
      List<Value>& list = parent.MutableList();
      list.erase(*ParseIndex(path.back(), list.size()));
    }
    return {};
  }

  Result<void> Replace(const Pointer& path, const Value& value) {
    if (auto found = Find(document_, path, path.size()); !found) return found.error();
    FindMutable(document_, path, path.size()) = value;
    return {};
  }

  Result<void> Move(const Pointer& from, const Pointer& path) {
    Result<const Value*> found = Find(document_, from, from.size());
    if (!found) return found.error().WithContext("from");
    if (from == path) return {};
    if (from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin())) {
      return Error::Invalid("a value cannot be moved into itself");
    }
    Value value = **found;
    std::size_t depth = path.size() + (depth_bound_ - std::min(depth_bound_, from.size()));
    if (depth <= kMaxDecodeDepth) {
      depth_bound_ = std::max(depth_bound_, depth);
    } else if (auto r = CheckDepth(path.size(), value); !r) {
      return r;
    }
    if (auto r = Remove(from); !r) return r;
    return Add(path, std::move(value));
  }

  Result<void> Copy(const Pointer& from, const Pointer& path) {
    Result<const Value*> found = Find(document_, from, from.size());
    if (!found) return found.error().WithContext("from");
    Value value = **found;
    std::size_t left = limits_.max_copied_bytes - copied_;
    std::size_t size = internal::JsonSize(value, left + 1);
    if (size > left) {
      return Error::Invalid("copy operations copy more than " + std::to_string(limits_.max_copied_bytes) + " bytes in all");
    }
    copied_ += size;
    if (auto r = CheckDepth(path.size(), value); !r) return r;
    return Add(path, std::move(value));
  }

  Result<void> Test(const Pointer& path, const Value& value) {
    Result<const Value*> found = Find(document_, path, path.size());
    if (!found) return found.error();
    if (**found == value) return {};
    return Error::Invalid("test failed: the value is another one");
  }
};

// `operation 2 (remove "/spec/x")`
std::string Describe(std::size_t index, const Value& operation) {
  std::string out = "operation " + std::to_string(index);
  if (const Value* op = operation.Find("op"); op != nullptr && op->is_string()) {
    std::string_view name = op->string_value();
    bool known = name == "add" || name == "remove" || name == "replace" || name == "move" || name == "copy" || name == "test";
    out += " (" + (known ? std::string(name) : Quote(name));
    if (const Value* path = operation.Find("path"); path != nullptr && path->is_string()) out += " " + Quote(path->string_value());
    out += ")";
  }
  return out;
}

// ---- Create ----

// Numbers for values: the same for equal ones.
class ElementNumbers {
 public:
  std::size_t Of(const Value& value) {
    std::vector<Known>& alike = by_hash_[HashObject(value)];
    for (const Known& known : alike) {
      if (*known.value == value) return known.number;
    }
    alike.push_back({&value, ++last_});
    return last_;
  }

 private:
  struct Known {
    const Value* value;
    std::size_t number;
  };
  std::unordered_map<std::uint64_t, std::vector<Known>> by_hash_;
  std::size_t last_ = 0;
};

// Walks three documents: `from` and `to`, whose differences count, and `on`, which the patch is for: another form of `from`, or `from`
// itself.
class Creator {
 public:
  void Compare(std::string& path, const Value& on, const Value& from, const Value& to) {
    if (from == to) return;
    if (on.is_object() && from.is_object() && to.is_object()) return CompareObjects(path, on.object(), from.object(), to.object());
    // Elements of lists are found by their place.
    if (from.is_list() && to.is_list() && on.list().size() == from.list().size()) {
      return CompareLists(path, on.list().data(), from.list(), to.list());
    }
    Emit("replace", path, &to);
  }

  void Emit(const char* op, const std::string& path, const Value* value) {
    Value operation = Value::Object({{"op", op}, {"path", path}});
    if (value != nullptr) operation["value"] = *value;
    operations_.push_back(std::move(operation));
  }

  List<Value> Take() { return std::move(operations_); }

 private:
  List<Value> operations_;

  // Calls f with `path` extended by one token.
  template <typename F>
  static void Below(std::string& path, std::string_view token, F&& f) {
    std::size_t size = path.size();
    AppendToken(path, token);
    f();
    path.resize(size);
  }

  void CompareObjects(std::string& path, const Map<Value>& on, const Map<Value>& from, const Map<Value>& to) {
    for (const auto& [key, value] : from) {
      if (!to.contains(key) && on.contains(key)) Below(path, key, [&] { Emit("remove", path, nullptr); });
    }
    for (const auto& [key, value] : to) {
      const Value* before = from.Find(key);
      const Value* current = on.Find(key);
      Below(path, key, [&, &after = value] {
        if (before != nullptr && current != nullptr) {
          Compare(path, *current, *before, after);
        } else if (before == nullptr || !(*before == after)) {
          Emit(current == nullptr ? "add" : "replace", path, &after);
        }
      });
    }
  }

  // Two elements that are worth comparing member by member: otherwise replacing one by the other is shorter.
  static bool Alike(const Value& a, const Value& b) {
    if (!a.is_object() || !b.is_object()) return a.is_list() && b.is_list();
    for (const auto& [key, value] : a.object()) {
      const Value* other = b.Find(key);
      if (other != nullptr && *other == value) return true;
    }
    return false;
  }

  // Between two elements that stay, `removed` elements (`on` in the document) are in the way of `added` ones; all are at `index` of what
  // the list is by now.
  void Change(std::string& path, std::size_t index, const Value* on, const Value* removed, std::size_t removed_count, const Value* added,
              std::size_t added_count) {
    std::size_t pairs = std::min(removed_count, added_count);
    for (std::size_t i = 0; i < pairs; ++i) {
      Below(path, std::to_string(index + i), [&] {
        if (Alike(removed[i], added[i])) {
          Compare(path, on[i], removed[i], added[i]);
        } else {
          Emit("replace", path, &added[i]);
        }
      });
    }
    // From the back, so that each index is right when its operation runs, and later elements do not move twice.
    for (std::size_t i = removed_count; i > pairs; --i) {
      Below(path, std::to_string(index + i - 1), [&] { Emit("remove", path, nullptr); });
    }
    for (std::size_t i = pairs; i < added_count; ++i) {
      Below(path, std::to_string(index + i), [&] { Emit("add", path, &added[i]); });
    }
  }

  // `on` has as many elements as `from`.
  void CompareLists(std::string& path, const Value* on, const List<Value>& from, const List<Value>& to) {
    const Value* a = from.data();
    const Value* b = to.data();
    std::size_t n = from.size();
    std::size_t m = to.size();
    std::size_t index = 0;
    while (n > 0 && m > 0 && *a == *b) ++on, ++a, ++b, --n, --m, ++index;
    while (n > 0 && m > 0 && a[n - 1] == b[m - 1]) --n, --m;
    constexpr std::size_t kMaxCells = 250'000;
    if (n == 0 || m == 0 || n > kMaxCells / m) return Change(path, index, on, a, n, b, m);

    // Equal elements get equal numbers, so that comparing each with each costs little however large they are.
    ElementNumbers numbers;
    std::vector<std::size_t> x(n);
    std::vector<std::size_t> y(m);
    for (std::size_t i = 0; i < n; ++i) x[i] = numbers.Of(a[i]);
    for (std::size_t j = 0; j < m; ++j) y[j] = numbers.Of(b[j]);
    // length[i][j]: of the longest common subsequence of a[i..] and b[j..].
    std::vector<std::uint32_t> length((n + 1) * (m + 1), 0);
    auto cell = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return length[i * (m + 1) + j]; };
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = m; j-- > 0;) {
        cell(i, j) = x[i] == y[j] ? cell(i + 1, j + 1) + 1 : std::max(cell(i + 1, j), cell(i, j + 1));
      }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    std::size_t run_i = 0;  // where the run of changes began
    std::size_t run_j = 0;
    auto flush = [&] {
      Change(path, index, on + run_i, a + run_i, i - run_i, b + run_j, j - run_j);
      index += j - run_j;
    };
    while (i < n && j < m) {
      if (x[i] == y[j]) {
        flush();
        // Nearly always nothing: two integers beyond 2^53 may equal the same double without being equal.
        Below(path, std::to_string(index), [&] { Compare(path, on[i], a[i], b[j]); });
        ++index;
        run_i = ++i;
        run_j = ++j;
      } else if (cell(i + 1, j) >= cell(i, j + 1)) {
        ++i;
      } else {
        ++j;
      }
    }
    i = n;
    j = m;
    flush();
  }
};

}  // namespace

Result<Value> ApplyJsonPatch(const Value& document, const Value& patch, const JsonPatchLimits& limits) {
  if (!patch.is_list()) return Error::Invalid("a JSON patch is a list of operations, not " + std::string(patch.kind_name()));
  const List<Value>& operations = patch.list();
  if (operations.size() > limits.max_operations) {
    return Error::Invalid("the patch has " + std::to_string(operations.size()) + " operations; at most " +
                          std::to_string(limits.max_operations) + " are allowed");
  }
  Application application(document, limits);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (auto r = application.Run(operations[i]); !r) {
      return r.error().WithContext(Describe(i, operations[i]));
    }
  }
  Value out = application.Take();
  out.Settle();  // operations wrote through references, and keep none
  return out;
}

Value CreateJsonPatch(const Value& from, const Value& to) {
  Creator creator;
  std::string path;
  creator.Compare(path, from, from, to);
  List<Value> operations = creator.Take();
  if (operations.size() > JsonPatchLimits().max_operations) {
    operations = {Value::Object({{"op", "replace"}, {"path", ""}, {"value", to}})};
  }
  return operations;
}

Value internal::CreateJsonPatchOf(const Value& document, const Value& from, const Value& to) {
  Creator creator;
  std::string path;
  creator.Compare(path, document, from, to);
  List<Value> operations = creator.Take();
  if (operations.size() <= JsonPatchLimits().max_operations || !document.is_object() || !to.is_object()) return operations;
  // Not as one operation with an empty path, which servers' libraries disagree about.
  Creator whole;
  for (const auto& [key, value] : to.object()) {
    const Value* before = from.Find(key);
    if (before != nullptr && *before == value) continue;
    AppendToken(path, key);
    whole.Emit(document.Find(key) == nullptr ? "add" : "replace", path, &value);
    path.clear();
  }
  for (const auto& [key, value] : from.object()) {
    if (to.Find(key) != nullptr || document.Find(key) == nullptr) continue;
    AppendToken(path, key);
    whole.Emit("remove", path, nullptr);
    path.clear();
  }
  return whole.Take();
}

}  // namespace kube

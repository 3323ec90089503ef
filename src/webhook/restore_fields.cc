// The way back of lost_fields.cc.
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/array_builder.h"
#include "codec/fields.h"
#include "codec/json_tokens.h"
#include "kube/codec/json.h"
#include "value/field_access.h"
#include "webhook/list_keys.h"
#include "webhook/lost_fields.h"
#include "webhook/one_field.h"
#include "webhook/unknown_members.h"

namespace kube::internal {
namespace {

// A member of a node: where its value stands.
using Nodes = std::map<std::string, std::uint32_t, std::less<>>;

struct LeafNode {
  std::string_view value{};             // JSON; empty: the object has none
  std::optional<std::uint64_t> back{};  // the hash of back's; absent: back had none
};

// Memory for one element that is not in an object yet.
class Spare {
 public:
  explicit Spare(const OneField& field) : field_(field), memory_(NewBox(field.size())) {}
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;
  ~Spare() {
    DestroyObject(field_.type(), at());
    FreeBlock(memory_);
  }
  char* at() { return memory_->data(); }
  // Moves into memory whose contents are discarded.
  void MoveTo(char* to) {
    DestroyObject(field_.type(), to);
    std::memcpy(to, at(), field_.size());
    std::memset(at(), 0, field_.size());
  }

 private:
  const OneField& field_;
  BoxRep* const memory_;
};

class Restorer {
 public:
  // Requires: `text` is valid JSON.
  explicit Restorer(JsonTokens& tokens) : t_(tokens) {}

  void Struct(const TypeInfo& type, char* object, std::uint32_t node) {
    Nodes unknown;
    for (const auto& [name, at] : NodesOf(node)) {
      const FoundField found = FindByName(type, name, 0);
      if (found.field != nullptr) {
        Field(*found.field, At(object, *found.field) + found.base, at);
      } else if (type.kind == nullptr || (name != "apiVersion" && name != "kind")) {
        unknown.emplace(name, at);
      }
    }
    if (UnknownFields* members = UnknownOf(type, object); members != nullptr && !unknown.empty()) Unknown(*members, unknown);
  }

 private:
  JsonTokens& t_;
  std::size_t repeated_ = 0;  // at most kMostRepeatedBytes

  char First(std::uint32_t i) const { return i < t_.count() ? t_.Token(i).front() : '\0'; }

  // Empty unless it is an object.
  Nodes NodesOf(std::uint32_t node) {
    Nodes out;
    if (First(node) != '{') return out;
    for (std::uint32_t i = node + 1; First(i) == '"';) {
      const std::string_view token = t_.Token(i);
      std::string name;
      if (!Unescape(token.substr(1, token.size() - 2), name)) return out;
      out[std::move(name)] = i + 2;
      i = t_.Skip(i + 2);
      if (First(i) != ',') break;
      ++i;
    }
    return out;
  }
  // The texts of a list of strings.
  std::optional<std::vector<std::string>> TextsOf(std::uint32_t node) {
    if (First(node) != '[') return std::nullopt;
    std::vector<std::string> out;
    for (std::uint32_t i = node + 1; First(i) == '"'; ++i) {
      const std::string_view token = t_.Token(i);
      if (!Unescape(token.substr(1, token.size() - 2), out.emplace_back())) return std::nullopt;
      if (First(++i) != ',') break;
    }
    return out;
  }
  std::optional<LeafNode> LeafOf(std::uint32_t node) {
    if (First(node) != '[' || First(node + 1) == ']') return std::nullopt;
    const std::uint32_t end = t_.Skip(node + 1);
    LeafNode out{.value = t_.Span(node + 1, end - 1)};
    if (First(end) == ']') return out;
    if (First(end + 1) != '"') return std::nullopt;
    const std::string_view text = t_.Token(end + 1);
    std::uint64_t hash = 0;
    const auto [stop, code] = std::from_chars(text.data() + 1, text.data() + text.size() - 1, hash, 16);
    if (code != std::errc() || stop != text.data() + text.size() - 1) return std::nullopt;
    out.back = hash;
    if (First(end + 2) == ',') out.value = {};
    return out;
  }

  // Whether what is there now (null: nothing) is what back had.
  static bool Unchanged(const LeafNode& leaf, const OneField& field, const char* now) {
    if (!leaf.back) return now == nullptr;
    return now != nullptr && field.Hash(now) == *leaf.back;
  }
  static bool Decode(const OneField& field, std::string_view json, char* to) { return DecodeJson(field.type(), to, json).ok(); }

  void Field(const FieldInfo& field, char* at, std::uint32_t node) {
    const OneField one(field);
    if (First(node) == '[') {
      if (field.shape == FieldShape::kPlain && IsStruct(field)) return;
      const std::optional<LeafNode> leaf = LeafOf(node);
      if (!leaf || !Unchanged(*leaf, one, one.IsEmpty(at) ? nullptr : at)) return;
      Spare fresh(one);
      if (leaf->value.empty() || Decode(one, leaf->value, fresh.at())) fresh.MoveTo(at);
      return;
    }
    if (field.shape == FieldShape::kMap) return Map(field, at, node);
    if (!IsStruct(field)) return;
    switch (field.shape) {
      case FieldShape::kPlain:
        return Struct(*field.type, at, node);
      case FieldShape::kOptional:
        if (BoxOf(at) != nullptr) Struct(*field.type, PrivateBox(field, at), node);
        return;
      default:
        return List(field, at, node);
    }
  }

  void Unknown(UnknownFields& unknown, const Nodes& nodes) {
    std::map<std::string, std::string_view, std::less<>> now;
    const std::vector<UnknownMember> members = MembersOf(unknown);
    for (const UnknownMember& member : members) now[member.name] = member.value;
    MemberChanges changes;
    for (const auto& [name, node] : nodes) {
      const std::optional<LeafNode> leaf = LeafOf(node);
      if (!leaf) continue;
      const auto found = now.find(name);
      const bool there = found != now.end();
      if (leaf->back ? there && HashObject(Value(found->second)) == *leaf->back : !there) changes[name] = leaf->value;
    }
    SetMembers(unknown, changes);
  }

  static char* PrivateBox(const FieldInfo& field, char* at) {
    BoxRep* box = BoxOf(at);
    if (!box->refs.IsOne()) {
      BoxRep* fresh = CopyBox(box, *field.type);
      ReleaseBox(box, *field.type);
      Write<BoxRep*>(at) = fresh;
    }
    return BoxOf(at)->data();
  }

  void Map(const FieldInfo& field, char* at, std::uint32_t node) {
    const OneField one = OneField::ElementOf(field);
    Nodes nodes = NodesOf(node);
    if (nodes.empty()) return;
    const std::size_t count = ArraySize(at), stride = EntrySize(field);
    ArrayRep* made = nullptr;
    ArrayBuilder entries(field, &made, count + nodes.size());
    const auto add = [&](const String& key) {
      char* entry = entries.Add();
      Write<String>(entry) = key;
      return entry + kEntryValueOffset;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const char* entry = Array(at)->data() + i * stride;
      const String& key = Read<String>(entry);
      const auto found = nodes.find(key.view());
      if (found == nodes.end()) {
        one.Copy(entry + kEntryValueOffset, add(key));
        continue;
      }
      const std::optional<LeafNode> leaf = LeafOf(found->second);
      if (leaf && Unchanged(*leaf, one, entry + kEntryValueOffset)) {
        Spare fresh(one);
        if (leaf->value.empty()) {
        } else if (Decode(one, leaf->value, fresh.at())) {
          fresh.MoveTo(add(key));
        } else {
          one.Copy(entry + kEntryValueOffset, add(key));
        }
      } else {
        char* value = add(key);
        one.Copy(entry + kEntryValueOffset, value);
        if (!leaf && IsStruct(field)) Struct(*field.type, value, found->second);
      }
      nodes.erase(found);
    }
    for (const auto& [key, place] : nodes) {
      const std::optional<LeafNode> leaf = LeafOf(place);
      Spare fresh(one);
      if (leaf && !leaf->back && Decode(one, leaf->value, fresh.at())) fresh.MoveTo(add(String(key)));
    }
    SortEntries(field, &made, [](std::string_view) {});
    Replace(field, at, made);
  }
  static void Replace(const FieldInfo& field, char* at, ArrayRep* made) {
    if (ArrayRep* old = Array(at)) ReleaseArray(field, old);
    if (made != nullptr && made->size == 0) {
      ReleaseArray(field, made);
      made = nullptr;
    }
    Write<ArrayRep*>(at) = made;
  }

  void List(const FieldInfo& field, char* at, std::uint32_t node) {
    const Nodes nodes = NodesOf(node);
    if (const auto content = nodes.find("content"); content != nodes.end()) return ByContent(field, at, content->second);
    const auto keys = nodes.find("keys");
    if (keys == nodes.end()) return;
    const std::optional<std::vector<std::string>> now = KeysOf(field, KeyFieldsOf(field), at);
    if (!now) return;
    const auto order = nodes.find("order");
    Keyed(field, at, *now, NodesOf(keys->second), order == nodes.end() ? 0 : order->second);
  }

  void ByContent(const FieldInfo& field, char* at, std::uint32_t node) {
    const OneField one = OneField::ElementOf(field);
    const Nodes nodes = NodesOf(node);
    if (nodes.empty() || ArraySize(at) == 0) return;
    std::set<std::uint32_t> used;
    ArrayBuilder own(field, &Write<ArrayRep*>(at), 0);
    for (std::size_t i = 0, n = ArraySize(at); i < n; ++i) {
      char* element = Array(at)->data() + i * field.type->size;
      char hash[17] = {};
      std::to_chars(hash, hash + 16, one.Hash(element), 16);
      const auto found = nodes.find(std::string_view(hash));
      if (found == nodes.end()) continue;
      if (!used.insert(found->second).second) {
        repeated_ += t_.Span(found->second, t_.Skip(found->second) - 1).size();
        if (repeated_ > kMostRepeatedBytes) return;
      }
      Struct(*field.type, element, found->second);
    }
  }

  // `order` is the node with the keys of the object and of back; 0 if they were the same.
  void Keyed(const FieldInfo& field, char* at, const std::vector<std::string>& now, const Nodes& nodes, std::uint32_t order) {
    const OneField one = OneField::ElementOf(field);
    std::optional<std::vector<std::string>> wanted;
    if (order != 0 && First(order) == '[') {
      const std::uint32_t second = t_.Skip(order + 1) + 1;
      const std::optional<std::vector<std::string>> back = TextsOf(second);
      // The list has other elements than back: which ones is the newer decision.
      if (back && *back == now) wanted = TextsOf(order + 1);
      // No object has a key twice. Each time would make another element of the same text.
      if (wanted && std::set<std::string_view>(wanted->begin(), wanted->end()).size() != wanted->size()) wanted.reset();
    }
    std::map<std::string_view, const char*> elements;
    for (std::size_t i = 0; i < now.size(); ++i) elements[now[i]] = Array(at)->data() + i * field.type->size;
    ArrayRep* made = nullptr;
    ArrayBuilder list(field, &made, now.size() + (wanted ? wanted->size() : 0));
    const auto keep = [&](std::string_view key, const char* element) {
      char* copy = list.Add();
      one.Copy(element, copy);
      if (const auto node = nodes.find(key); node != nodes.end()) Struct(*field.type, copy, node->second);
    };
    if (wanted) {
      for (const std::string& key : *wanted) {
        if (const auto element = elements.find(key); element != elements.end()) {
          keep(key, element->second);
          elements.erase(element);
          continue;
        }
        const auto node = nodes.find(key);
        const std::optional<LeafNode> leaf = node == nodes.end() ? std::nullopt : LeafOf(node->second);
        Spare fresh(one);
        if (leaf && !leaf->back && Decode(one, leaf->value, fresh.at())) fresh.MoveTo(list.Add());
      }
    }
    for (const std::string& key : now) {
      const auto element = elements.find(key);
      if (element == elements.end()) continue;
      const auto node = nodes.find(key);
      const std::optional<LeafNode> leaf = node == nodes.end() ? std::nullopt : LeafOf(node->second);
      // The conversion made this element up, and it is as it was made.
      if (wanted && leaf && leaf->back && leaf->value.empty() && Unchanged(*leaf, one, element->second)) continue;
      keep(key, element->second);
    }
    Replace(field, at, made);
  }
};

}  // namespace

bool RestoreFields(const TypeInfo& type, void* object, std::string_view lost) {
  JsonTokens tokens;
  std::string scratch;
  std::string_view compact, problem;
  if (!tokens.Load(lost) || tokens.Peek() != '{' || !tokens.ReadRaw(0, scratch, compact, problem) || !tokens.AtEnd()) return false;
  Restorer(tokens).Struct(type, static_cast<char*>(object), 0);
  return true;
}

}  // namespace kube::internal

#include "webhook/lost_fields.h"

#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "codec/json_writer.h"
#include "kube/codec/json.h"
#include "value/field_access.h"
#include "webhook/list_keys.h"
#include "webhook/one_field.h"
#include "webhook/unknown_members.h"

namespace kube::internal {
namespace {

std::string HashText(std::uint64_t hash) {
  char buffer[16];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, hash, 16).ptr};
}
std::string HashText(std::string_view json) { return HashText(HashObject(Value(json))); }

// Each function appends a node to `out_` and says so, or appends nothing if there is no difference.
class Differ {
 public:
  bool Struct(const TypeInfo& type, const char* object, const char* back) {
    Members members(out_);
    Fields(type, object, back, members);
    return members.Close();
  }
  std::string&& Take() { return std::move(out_); }

 private:
  std::string out_;
  std::size_t repeated_ = 0;  // what the other side counts against kMostRepeatedBytes

  // The members of a JSON object, which is taken back if it has none.
  class Members {
   public:
    explicit Members(std::string& out) : out_(out), before_(out.size()) { out_ += '{'; }
    // Writes a member if `write` does.
    template <typename F>
    void Add(std::string_view name, F write) {
      const std::size_t before = out_.size();
      if (count_ != 0) out_ += ',';
      JsonWriter(out_, 0).String(name);
      out_ += ':';
      if (write()) {
        ++count_;
      } else {
        out_.resize(before);
      }
    }
    bool Close() {
      if (count_ == 0) {
        out_.resize(before_);
        return false;
      }
      out_ += '}';
      return true;
    }

   private:
    std::string& out_;
    const std::size_t before_;
    std::size_t count_ = 0;
  };

  // Empty texts stand for no value.
  bool Leaf(std::string_view object_json, std::string_view back_hash) {
    out_ += '[';
    out_ += object_json.empty() ? std::string_view("null") : object_json;
    if (!back_hash.empty()) {
      out_ += ",\"";
      out_ += back_hash;
      out_ += '"';
    }
    out_ += object_json.empty() ? ",0]" : "]";
    return true;
  }
  bool Leaf(const OneField& field, const char* object, const char* back) {
    std::string json;
    if (object != nullptr && !EncodeJson(field.type(), object, json)) return false;  // a RawJson that is no JSON: nothing can keep it
    return Leaf(json, back == nullptr ? std::string() : HashText(field.Hash(back)));
  }
  bool Whole(const OneField& field, const char* object, const char* back) {
    return Leaf(field, field.IsEmpty(object) ? nullptr : object, field.IsEmpty(back) ? nullptr : back);
  }

  void Fields(const TypeInfo& type, const char* object, const char* back, Members& members) {
    for (const FieldInfo& field : type) {
      if (field.kind == FieldKind::kInline) {
        Fields(*field.type, At(object, field), At(back, field), members);
        continue;
      }
      const OneField one(field);
      const char* mine = At(object, field);
      const char* other = At(back, field);
      if (!one.Equal(mine, other)) members.Add(field.json_name, [&] { return Field(one, mine, other); });
    }
    const UnknownFields* mine = UnknownOf(type, object);
    if (mine != nullptr && !(*mine == *UnknownOf(type, back))) Unknown(*mine, *UnknownOf(type, back), members);
  }

  void Unknown(const UnknownFields& object, const UnknownFields& back, Members& members) {
    std::map<std::string, std::pair<std::string_view, std::string_view>> all;
    for (const UnknownMember& member : MembersOf(object)) all[member.name].first = member.value;
    for (const UnknownMember& member : MembersOf(back)) all[member.name].second = member.value;
    for (const auto& [name, values] : all) {
      const auto [mine, other] = values;
      if (mine != other) members.Add(name, [&, m = mine, o = other] { return Leaf(m, o.empty() ? std::string() : HashText(o)); });
    }
  }

  // The two differ.
  bool Field(const OneField& one, const char* object, const char* back) {
    const FieldInfo& field = one.field();
    if (field.shape == FieldShape::kMap) return Map(field, object, back);
    if (!IsStruct(field)) return Whole(one, object, back);
    switch (field.shape) {
      case FieldShape::kPlain:
        return Struct(*field.type, object, back);
      case FieldShape::kOptional:
        if (BoxOf(object) == nullptr || BoxOf(back) == nullptr) return Whole(one, object, back);
        return Struct(*field.type, BoxOf(object)->data(), BoxOf(back)->data());
      default:
        return List(one, object, back);
    }
  }

  // An element of a list or map that both have.
  bool Element(const OneField& one, const char* object, const char* back) {
    if (one.Equal(object, back)) return false;
    return IsStruct(one.field()) ? Struct(*one.field().type, object, back) : Leaf(one, object, back);
  }

  bool Map(const FieldInfo& field, const char* object, const char* back) {
    const OneField one = OneField::ElementOf(field);
    std::map<std::string_view, std::pair<const char*, const char*>> all;
    const auto collect = [&](const char* at, const char* std::pair<const char*, const char*>::*side) {
      const std::size_t stride = EntrySize(field);
      for (std::size_t i = 0, n = ArraySize(at); i < n; ++i) {
        const char* entry = Array(at)->data() + i * stride;
        all[Read<String>(entry).view()].*side = entry + kEntryValueOffset;
      }
    };
    collect(object, &std::pair<const char*, const char*>::first);
    collect(back, &std::pair<const char*, const char*>::second);
    Members members(out_);
    for (const auto& [key, values] : all) {
      const auto [mine, other] = values;
      members.Add(key, [&, m = mine, o = other] { return m != nullptr && o != nullptr ? Element(one, m, o) : Leaf(one, m, o); });
    }
    return members.Close();
  }

  bool List(const OneField& one, const char* object, const char* back) {
    const FieldInfo& field = one.field();
    if (ArraySize(object) == 0 || ArraySize(back) == 0) return Whole(one, object, back);
    const std::vector<const FieldInfo*> key_fields = KeyFieldsOf(field);
    const auto mine = KeysOf(field, key_fields, object);
    const auto others = KeysOf(field, key_fields, back);
    if (mine && others) return Keyed(field, object, *mine, back, *others);
    if (ArraySize(object) != ArraySize(back)) return Whole(one, object, back);
    const std::size_t before = out_.size();
    if (ByContent(field, object, back)) return true;
    out_.resize(before);
    return Whole(one, object, back);
  }

  bool Keyed(const FieldInfo& field, const char* object, const std::vector<std::string>& mine, const char* back,
             const std::vector<std::string>& others) {
    const OneField one = OneField::ElementOf(field);
    const std::size_t stride = field.type->size;
    std::map<std::string_view, const char*> backs;
    for (std::size_t i = 0; i < others.size(); ++i) backs[others[i]] = Array(back)->data() + i * stride;
    out_ += "{\"keys\":";
    Members members(out_);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const char* element = Array(object)->data() + i * stride;
      const auto other = backs.find(mine[i]);
      members.Add(mine[i], [&] { return other != backs.end() ? Element(one, element, other->second) : Leaf(one, element, nullptr); });
      if (other != backs.end()) backs.erase(other);
    }
    for (const auto& [key, element] : backs) members.Add(key, [&, at = element] { return Leaf(one, nullptr, at); });
    if (!members.Close()) out_ += "{}";
    if (mine != others) {
      out_ += ",\"order\":[";
      Keys(mine);
      out_ += ',';
      Keys(others);
      out_ += ']';
    }
    out_ += '}';
    return true;
  }
  void Keys(const std::vector<std::string>& keys) {
    JsonWriter writer(out_, 0);
    writer.BeginList();
    for (const std::string& key : keys) {
      writer.Element();
      writer.String(key);
    }
    writer.EndList();
  }

  // False if elements look the same but lost different things, or if there are too many of them to compare.
  bool ByContent(const FieldInfo& field, const char* object, const char* back) {
    const OneField one = OneField::ElementOf(field);
    const std::size_t stride = field.type->size;
    std::size_t repeated = repeated_;
    std::map<std::string, std::string> nodes;
    for (std::size_t i = 0, n = ArraySize(object); i < n; ++i) {
      const char* mine = Array(object)->data() + i * stride;
      const char* other = Array(back)->data() + i * stride;
      Differ inside;
      static_cast<void>(inside.Element(one, mine, other));
      const auto [at, fresh] = nodes.try_emplace(HashText(one.Hash(other)), inside.out_);
      if (!fresh && at->second != inside.out_) return false;
      repeated += inside.repeated_ + (fresh ? 0 : inside.out_.size());
      if (repeated > kMostRepeatedBytes) return false;
    }
    out_ += "{\"content\":";
    Members members(out_);
    for (const auto& [hash, node] : nodes) {
      members.Add(hash, [&, text = std::string_view(node)] {
        out_ += text;
        return !text.empty();
      });
    }
    if (!members.Close()) return false;
    out_ += '}';
    repeated_ = repeated;
    return true;
  }
};

}  // namespace

std::string LostFields(const TypeInfo& type, const void* object, const void* back) {
  if (EqualObjects(type, object, back)) return {};
  Differ differ;
  static_cast<void>(differ.Struct(type, static_cast<const char*>(object), static_cast<const char*>(back)));
  return differ.Take();
}

}  // namespace kube::internal

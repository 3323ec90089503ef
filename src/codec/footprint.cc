#include "kube/codec/footprint.h"

#include <optional>
#include <unordered_map>

#include "codec/array_builder.h"
#include "value/field_access.h"

namespace kube {

using internal::ArrayRep;
using internal::At;
using internal::BoxRep;
using internal::Read;

// Each function returns the logical bytes of what it is given, and adds to the real ones what was not there before.
class Footprint::Walk {
 public:
  std::size_t logical = 0;
  std::size_t real = 0;

  // A whole object: `inside` gives the logical bytes of what it refers to.
  template <typename F>
  void Object(const void* object, std::size_t size, F inside) {
    auto [known, fresh] = objects_.try_emplace(object, 0);
    if (fresh) {
      real += size;
      std::size_t bytes = size + inside();
      known->second = bytes;
    }
    logical += known->second;
  }

  std::size_t Struct(const TypeInfo& type, const void* object) {
    std::size_t bytes = 0;
    for (const FieldInfo& field : type) bytes += Field(field, At(object, field));
    if (const UnknownFields* unknown = internal::UnknownOf(type, object)) bytes += Unknown(*unknown);
    return bytes;
  }

  std::size_t Any(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kString:
        return Text(value.string_value());
      case Value::Kind::kList: {
        const List<Value>& list = value.list();
        return Array(internal::Array(&list), sizeof(Value), [&] {
          std::size_t bytes = 0;
          for (const Value& item : list) bytes += Any(item);
          return bytes;
        });
      }
      case Value::Kind::kObject: {
        const Map<Value>& object = value.object();
        return Array(internal::Array(&object), sizeof(MapEntry<Value>), [&] {
          std::size_t bytes = 0;
          for (const auto& [key, member] : object) bytes += Text(key) + Any(member);
          return bytes;
        });
      }
      default:
        return 0;
    }
  }

 private:
  std::unordered_map<const void*, std::size_t> objects_;  // to their logical bytes
  std::unordered_map<const void*, std::size_t> shared_;   // blocks with more than one owner, to their logical bytes

  // A block: its own size, and what is inside.
  template <typename F>
  std::size_t Block(const void* address, std::size_t size, bool sole_owner, F inside) {
    if (!sole_owner) {
      if (auto known = shared_.find(address); known != shared_.end()) return known->second;
    }
    real += size;
    std::size_t bytes = size + inside();
    if (!sole_owner) shared_.emplace(address, bytes);
    return bytes;
  }

  std::size_t Text(const String& text) {
    std::size_t size = text.heap_bytes();
    return size == 0 ? 0 : Block(text.data(), size, text.SoleOwner(), [] { return std::size_t{0}; });
  }
  // The text of a String that is not at hand.
  std::size_t Text(std::string_view text) {
    if (text.size() <= String::kInlineCapacity) return 0;
    return Block(text.data(), sizeof(internal::RefCount) + text.size(), false, [] { return std::size_t{0}; });
  }

  template <typename F>
  std::size_t Array(const ArrayRep* rep, std::size_t stride, F inside) {
    if (rep == nullptr) return 0;
    return Block(rep, sizeof(ArrayRep) + rep->capacity * stride, rep->refs.IsOne(), inside);
  }

  std::size_t Unknown(const UnknownFields& unknown) {
    if (unknown.empty()) return 0;
    // A count and two Strings; one pointer wide, as lists are.
    return Block(Read<const void*>(&unknown), 8 + 2 * sizeof(String), false,
                 [&] { return Text(unknown.json()) + Text(unknown.protobuf()); });
  }

  template <typename T>
  std::size_t Scalar(const T& value) {
    if constexpr (std::is_same_v<T, String>) {
      return Text(value);
    } else if constexpr (std::is_same_v<T, RawJson>) {
      if (value.base() == nullptr) return Text(value.text());
      return Block(Read<const void*>(&value), value.heap_bytes(), value.SoleOwner(), [&] { return Text(*value.base()); });
    } else if constexpr (std::is_same_v<T, IntOrString>) {
      return Text(value.string_value());
    } else if constexpr (std::is_same_v<T, Quantity>) {
      static_assert(sizeof(Quantity) == sizeof(String));
      return Text(Read<String>(&value));  // its only member
    } else {
      return 0;
    }
  }

  // What stands for itself: a plain field, a list element, a map value.
  std::size_t Element(const FieldInfo& field, const char* at) {
    if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) return Struct(*field.type, at);
    return internal::WithScalarType(field.kind, [&](auto t) { return Scalar(Read<typename decltype(t)::type>(at)); });
  }

  std::size_t Field(const FieldInfo& field, const char* at) {
    switch (field.shape) {
      case FieldShape::kPlain:
        return Element(field, at);
      case FieldShape::kOptional: {
        if (field.kind != FieldKind::kMessage) {
          return internal::WithScalarType(field.kind, [&](auto t) {
            using T = typename decltype(t)::type;
            if constexpr (internal::kOwnUnset<T>) {
              return std::size_t{0};
            } else {
              const auto& held = Read<std::optional<T>>(at);
              return held ? Scalar(*held) : std::size_t{0};
            }
          });
        }
        BoxRep* rep = internal::BoxOf(at);
        if (rep == nullptr) return 0;
        return Block(rep, sizeof(BoxRep) + field.type->size, rep->refs.IsOne(), [&] { return Struct(*field.type, rep->data()); });
      }
      case FieldShape::kList:
      case FieldShape::kMap:
        break;
    }
    ArrayRep* rep = internal::Array(at);
    std::size_t stride = internal::Stride(field);
    return Array(rep, stride, [&] {
      std::size_t bytes = 0;
      const char* element = rep->data();
      for (std::uint32_t i = 0; i < rep->size; ++i, element += stride) {
        if (field.shape == FieldShape::kMap) {
          bytes += Text(Read<String>(element)) + Element(field, element + internal::kEntryValueOffset);
        } else {
          bytes += Element(field, element);
        }
      }
      return bytes;
    });
  }
};

Footprint::Footprint() : walk_(std::make_unique<Walk>()) {}
Footprint::~Footprint() = default;
Footprint::Footprint(Footprint&&) noexcept = default;
Footprint& Footprint::operator=(Footprint&&) noexcept = default;

void Footprint::Add(const TypeInfo& type, const void* object) {
  walk_->Object(object, type.size, [&] { return walk_->Struct(type, object); });
}

void Footprint::Add(const Value& value) {
  walk_->Object(&value, sizeof(Value), [&] { return walk_->Any(value); });
}

std::size_t Footprint::logical_bytes() const { return walk_->logical; }
std::size_t Footprint::real_bytes() const { return walk_->real; }

}  // namespace kube

// Copy, destroy and compare structs by their tables.
#include "value/field_access.h"

namespace kube {
namespace internal {
namespace {

template <typename T>
constexpr bool kOwnsNothing = std::is_trivially_destructible_v<T>;

void DestroyField(const FieldInfo& field, char* at) noexcept {
  switch (field.shape) {
    case FieldShape::kList:
    case FieldShape::kMap:
      if (ArrayRep* rep = Array(at)) ReleaseArray(field, rep);
      return;
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) {
        if (BoxRep* rep = BoxOf(at)) ReleaseBox(rep, *field.type);
        return;
      }
      WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        if constexpr (!kOwnsNothing<T>) std::destroy_at(&Write<std::optional<T>>(at));
      });
      return;
    case FieldShape::kPlain:
      break;
  }
  if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) return DestroyObject(*field.type, at);
  WithScalarType(field.kind, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (!kOwnsNothing<T>) std::destroy_at(&Write<T>(at));
  });
}

// Calls f(element) for each struct in the block of a list or map of structs.
template <typename F>
void ForEachStruct(const FieldInfo& field, ArrayRep* rep, F f) {
  const bool map = field.shape == FieldShape::kMap;
  const std::size_t stride = map ? EntrySize(field) : field.type->size;
  char* at = rep->data() + (map ? kEntryValueOffset : 0);
  for (std::uint32_t i = 0; i < rep->size; ++i, at += stride) f(at);
}

void CopyLentArray(const FieldInfo& field, char* to, const char* from) {
  ArrayRep* rep = Array(from);
  const bool map = field.shape == FieldShape::kMap;
  if (field.kind != FieldKind::kMessage) {
    return WithScalarType(field.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      if (map) {
        new (to) Map<T>(Read<Map<T>>(from));
      } else {
        new (to) List<T>(Read<List<T>>(from));
      }
    });
  }
  if (!map) {
    Write<ArrayRep*>(to) = CopyStructArray(rep, rep->size, *field.type);
    return;
  }
  const std::size_t stride = EntrySize(field);
  ArrayRep* fresh = NewArray(rep->size, stride);
  fresh->size = rep->size;  // zeroes are default values, so it can be released at any moment
  try {
    for (std::size_t i = 0; i < rep->size; ++i) {
      char* entry = fresh->data() + stride * i;
      const char* old = rep->data() + stride * i;
      new (entry) String(Read<String>(old));
      CopyObject(*field.type, entry + kEntryValueOffset, old + kEntryValueOffset);
    }
  } catch (...) {
    ReleaseArray(field, fresh);
    throw;
  }
  Write<ArrayRep*>(to) = fresh;
}

void CopyField(const FieldInfo& field, char* to, const char* from) {
  switch (field.shape) {
    case FieldShape::kList:
    case FieldShape::kMap: {
      ArrayRep* rep = Array(from);
      if (rep != nullptr && rep->lent != 0) return CopyLentArray(field, to, from);
      if (rep != nullptr) rep->refs.Increment();
      Write<ArrayRep*>(to) = rep;
      return;
    }
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) {
        BoxRep* rep = BoxOf(from);
        Write<BoxRep*>(to) = rep == nullptr ? nullptr : ShareBox(rep, *field.type);
        return;
      }
      WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        using Held = std::conditional_t<kOwnUnset<T>, T, std::optional<T>>;
        new (to) Held(Read<Held>(from));
      });
      return;
    case FieldShape::kPlain:
      break;
  }
  if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) return CopyObject(*field.type, to, from);
  WithScalarType(field.kind, [&](auto t) {
    using T = typename decltype(t)::type;
    new (to) T(Read<T>(from));
  });
}

bool EqualStructs(const FieldInfo& field, ArrayRep* a, ArrayRep* b, std::size_t stride, std::size_t offset) {
  for (std::uint32_t i = 0; i < a->size; ++i) {
    const char* x = a->data() + i * stride;
    const char* y = b->data() + i * stride;
    if (offset != 0 && Read<String>(x) != Read<String>(y)) return false;
    if (!EqualObjects(*field.type, x + offset, y + offset)) return false;
  }
  return true;
}

bool EqualField(const FieldInfo& field, const char* a, const char* b) {
  if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) {
    ArrayRep* x = Array(a);
    ArrayRep* y = Array(b);
    if (x == y) return true;
    if (ArraySize(a) != ArraySize(b)) return false;
    if (ArraySize(a) == 0) return true;  // an empty list and no list are the same
    bool map = field.shape == FieldShape::kMap;
    if (field.kind == FieldKind::kMessage) {
      return map ? EqualStructs(field, x, y, EntrySize(field), kEntryValueOffset) : EqualStructs(field, x, y, field.type->size, 0);
    }
    return WithScalarType(field.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      return map ? Read<Map<T>>(a) == Read<Map<T>>(b) : Read<List<T>>(a) == Read<List<T>>(b);
    });
  }
  if (field.shape == FieldShape::kOptional) {
    if (field.kind == FieldKind::kMessage) {
      BoxRep* x = BoxOf(a);
      BoxRep* y = BoxOf(b);
      return x == y || (x != nullptr && y != nullptr && EqualObjects(*field.type, x->data(), y->data()));
    }
    return WithScalarType(field.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      using Held = std::conditional_t<kOwnUnset<T>, T, std::optional<T>>;
      return Read<Held>(a) == Read<Held>(b);
    });
  }
  if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) return EqualObjects(*field.type, a, b);
  return WithScalarType(field.kind, [&](auto t) {
    using T = typename decltype(t)::type;
    return Read<T>(a) == Read<T>(b);
  });
}

}  // namespace

void ReleaseArray(const FieldInfo& field, ArrayRep* rep) noexcept {
  bool map = field.shape == FieldShape::kMap;
  if (field.kind == FieldKind::kMessage) {
    if (!map) return ReleaseStructArray(rep, *field.type);
    if (!rep->refs.DropsLast()) return;
    char* at = rep->data();
    std::size_t stride = EntrySize(field);
    for (std::uint32_t i = 0; i < rep->size; ++i, at += stride) {
      std::destroy_at(&Write<String>(at));
      DestroyObject(*field.type, at + kEntryValueOffset);
    }
    FreeBlock(rep);
    return;
  }
  WithScalarType(field.kind, [&](auto t) {
    using T = typename decltype(t)::type;
    if (map) {
      std::destroy_at(reinterpret_cast<Map<T>*>(&rep));
    } else {
      std::destroy_at(reinterpret_cast<List<T>*>(&rep));
    }
  });
}

void CopyObject(const TypeInfo& type, void* raw, const void* object) {
  std::uint32_t copied = 0;
  try {
    for (; copied < type.field_count; ++copied) {
      const FieldInfo& field = type.fields[copied];
      CopyField(field, At(raw, field), At(object, field));
    }
  } catch (...) {
    while (copied > 0) {
      const FieldInfo& field = type.fields[--copied];
      DestroyField(field, At(raw, field));
    }
    std::memset(raw, 0, type.size);
    throw;
  }
  if (const UnknownFields* unknown = UnknownOf(type, object)) new (UnknownOf(type, raw)) UnknownFields(*unknown);
}

void DestroyObject(const TypeInfo& type, void* object) noexcept {
  for (const FieldInfo& field : type) DestroyField(field, At(object, field));
  if (UnknownFields* unknown = UnknownOf(type, object)) std::destroy_at(unknown);
}

bool StructHoldsLent(const TypeInfo& type, const void* object) {
  for (const FieldInfo& field : type) {
    const char* at = At(object, field);
    if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) {
      if (const ArrayRep* rep = Array(at); rep != nullptr && rep->lent != 0) return true;
    } else if (field.kind == FieldKind::kInline || (field.kind == FieldKind::kMessage && field.shape == FieldShape::kPlain)) {
      if (StructHoldsLent(*field.type, at)) return true;
    } else if (field.kind == FieldKind::kMessage) {
      if (const BoxRep* rep = BoxOf(at); rep != nullptr && rep->lent != 0) return true;
    }
  }
  return false;
}

void SettleStruct(const TypeInfo& type, void* object) {
  for (const FieldInfo& field : type) {
    char* at = At(object, field);
    if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) {
      ArrayRep* rep = Array(at);
      if (rep == nullptr || rep->lent == 0) continue;
      rep->lent = 0;
      if (field.kind == FieldKind::kMessage) ForEachStruct(field, rep, [&](char* element) { SettleStruct(*field.type, element); });
    } else if (field.kind == FieldKind::kInline || (field.kind == FieldKind::kMessage && field.shape == FieldShape::kPlain)) {
      SettleStruct(*field.type, at);
    } else if (field.kind == FieldKind::kMessage) {
      BoxRep* rep = BoxOf(at);
      if (rep == nullptr || rep->lent == 0) continue;
      rep->lent = 0;
      SettleStruct(*field.type, rep->data());
    }
  }
}

}  // namespace internal

bool EqualObjects(const TypeInfo& type, const void* a, const void* b) {
  for (const FieldInfo& field : type) {
    if (!internal::EqualField(field, internal::At(a, field), internal::At(b, field))) return false;
  }
  const UnknownFields* unknown = internal::UnknownOf(type, a);
  return unknown == nullptr || *unknown == *internal::UnknownOf(type, b);
}

bool IsEmptyObject(const TypeInfo& type, const void* object) {
  for (const FieldInfo& field : type) {
    if (!internal::IsEmptyField(field, internal::At(object, field))) return false;
  }
  const UnknownFields* unknown = internal::UnknownOf(type, object);
  return unknown == nullptr || unknown->empty();
}

}  // namespace kube

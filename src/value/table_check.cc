// Finds tables that cannot be right, before an engine writes out of bounds.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/base/mutex.h"
#include "value/field_access.h"

namespace kube::internal {
namespace {

struct Place {
  std::size_t begin = 0, end = 0, alignment = 1;
  std::string_view name{};
};

Place PlaceOf(const FieldInfo& field) {
  Place out{.begin = field.offset, .name = field.json_name};
  std::size_t size = sizeof(void*);
  out.alignment = alignof(void*);
  const bool block = field.shape == FieldShape::kList || field.shape == FieldShape::kMap ||
                     (field.shape == FieldShape::kOptional && field.kind == FieldKind::kMessage);
  if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) {
    if (!block) size = field.type->size;
  } else if (!block) {
    WithScalarType(field.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      if (field.shape == FieldShape::kOptional && !kOwnUnset<T>) {
        size = sizeof(std::optional<T>);
        out.alignment = alignof(std::optional<T>);
      } else {
        size = sizeof(T);
        out.alignment = alignof(T);
      }
    });
  }
  out.end = out.begin + size;
  return out;
}

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string Find(const TypeInfo& type, std::vector<const TypeInfo*>& seen) {
  seen.push_back(&type);
  const std::string what = "the table of " + std::string(type.name) + " is wrong: ";
  std::vector<Place> places;
  for (const FieldInfo& field : type) {
    if (field.kind > FieldKind::kInline || field.shape > FieldShape::kMap)
      return what + Quoted(field.json_name) + " has no kind that exists";
    if (field.kind == FieldKind::kMessage && field.type == nullptr)
      return what + Quoted(field.json_name) + " is a struct and names no type";
    if (field.kind == FieldKind::kInline && field.type == nullptr) return what + "it inlines a struct and names no type";
    // A view of the struct itself has no place of its own; an inlined member has.
    if (field.kind == FieldKind::kInline && field.type->size == type.size && field.type->unknown_offset == kNoOffset) continue;
    places.push_back(PlaceOf(field));
  }
  if (type.unknown_offset != kNoOffset) {
    places.push_back({.begin = type.unknown_offset,
                      .end = type.unknown_offset + sizeof(UnknownFields),
                      .alignment = alignof(UnknownFields),
                      .name = "unknown_fields"});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& at = places[i];
    if (at.begin % at.alignment != 0) return what + Quoted(at.name) + " is at an offset that its type cannot have; is its kind right?";
    if (at.end > type.size) return what + Quoted(at.name) + " ends behind the struct; are its kind and shape right, and the size?";
    if (i > 0 && places[i - 1].end > at.begin) {
      return what + Quoted(places[i - 1].name) + " reaches into " + Quoted(at.name) + "; are its kind and shape those of the member?";
    }
  }
  for (const FieldInfo& field : type) {
    if ((field.kind != FieldKind::kMessage && field.kind != FieldKind::kInline) ||
        std::find(seen.begin(), seen.end(), field.type) != seen.end())
      continue;
    if (std::string problem = Find(*field.type, seen); !problem.empty()) return problem;
  }
  return {};
}

}  // namespace

std::string_view TableProblem(const TypeInfo& type) {
  if (type.kind != nullptr && type.kind->built_in) return {};
  thread_local const TypeInfo* last_good = nullptr;
  if (last_good == &type) return {};
  static Mutex& mu = *new Mutex;
  static std::unordered_map<const TypeInfo*, std::string>& known = *new std::unordered_map<const TypeInfo*, std::string>;
  const MutexLock lock(mu);
  const auto [at, fresh] = known.try_emplace(&type);
  if (fresh) {
    std::vector<const TypeInfo*> seen;
    at->second = Find(type, seen);
  }
  if (at->second.empty()) last_good = &type;
  return at->second;  // stays where it is: entries are never removed
}

}  // namespace kube::internal

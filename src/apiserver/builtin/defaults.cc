#include "apiserver/builtin/defaults.h"

#include <unordered_set>

#include "apiserver/builtin/catalogue.h"
#include "apiserver/builtin/defaults_table.h"
#include "apiserver/builtin/struct_walk.h"

namespace kube::apiserver {
namespace {

// The functions, and the types in which a walk can find one of them: all others are not walked at all.
struct Defaults {
  builtin::DefaultsTable table;
  std::unordered_set<const TypeInfo*> reach;
};

// True if the type or a part of it has defaults. Types may contain themselves; `open` are those on the way here.
bool Reaches(const TypeInfo& type, Defaults& d, std::unordered_set<const TypeInfo*>& open) {
  if (d.reach.contains(&type)) return true;
  if (!open.insert(&type).second) return false;
  bool found = d.table.Find(type) != nullptr;
  for (const FieldInfo& field : type) {
    if (field.type != nullptr && field.shape != FieldShape::kMap && Reaches(*field.type, d, open)) found = true;
  }
  if (found) d.reach.insert(&type);
  return found;
}

const Defaults& TheDefaults() {
  static const Defaults* const defaults = [] {
    auto* d = new Defaults;
    builtin::AddCoreDefaults(d->table);
    builtin::AddPodDefaults(d->table);
    builtin::AddWorkloadDefaults(d->table);
    builtin::AddOtherDefaults(d->table);
    for (const BuiltinResource& r : Catalogue()) {
      std::unordered_set<const TypeInfo*> open;
      Reaches(*r.type, *d, open);
      for (const BuiltinSubresource& s : r.subresources) Reaches(*s.type, *d, open);
    }
    return d;
  }();
  return *defaults;
}

}  // namespace

void ApplyDefaults(const TypeInfo& type, void* object) {
  const Defaults& d = TheDefaults();
  ForEachStruct(type, object, [&d](const TypeInfo& part, void* at) {
    if (!d.reach.contains(&part)) return false;
    if (auto fn = d.table.Find(part)) fn(at);
    return true;
  });
}

}  // namespace kube::apiserver

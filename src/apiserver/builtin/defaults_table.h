// Private to the defaults: which function fills in which struct.
#pragma once

#include <unordered_map>

#include "kube/value/type_info.h"

namespace kube::apiserver::builtin {

class DefaultsTable {
 public:
  using Fn = void (*)(void*);

  // One function per struct type; `F` takes a reference to the struct.
  template <typename T, void (*F)(T&)>
  void Add() {
    table_[&T::kType] = [](void* object) { F(*static_cast<T*>(object)); };
  }
  Fn Find(const TypeInfo& type) const {
    auto found = table_.find(&type);
    return found == table_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const TypeInfo*, Fn> table_;
};

void AddCoreDefaults(DefaultsTable& table);
void AddPodDefaults(DefaultsTable& table);
void AddWorkloadDefaults(DefaultsTable& table);
void AddOtherDefaults(DefaultsTable& table);

// Sets what is not set.
template <typename Field, typename V>
void Default(Field& field, V value) {
  if constexpr (requires { field.has_value(); }) {
    if (!field.has_value()) field = std::move(value);
  } else {
    if (field == Field{}) field = std::move(value);
  }
}

}  // namespace kube::apiserver::builtin

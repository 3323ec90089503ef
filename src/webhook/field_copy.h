// FieldCopy: copies what two structs have in common, by their tables.
//
// Fields go together if JSON name, kind and shape are equal. Structs of different C++ types (v1::NetworkSpec, v2::NetworkSpec) are copied
// field by field, also in lists, maps and boxes; parts of one type are shared. Unknown fields are copied unless the other type has a field
// of that name.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kube/value/type_info.h"
#include "webhook/one_field.h"

namespace kube::internal {

// Thread safety: never changes once made. Cost: what two types have in common is found out when it is made.
class FieldCopy {
 public:
  FieldCopy(const TypeInfo& from, const TypeInfo& to) : root_(PlanFor(from, to)) {}

  // Requires: `to` has its default value.
  void Copy(const void* from, void* to) const { Run(*root_, static_cast<const char*>(from), static_cast<char*>(to)); }

 private:
  struct Plan;
  struct Step {
    OneField from;
    OneField to;
    std::size_t from_offset = 0;
    std::size_t to_offset = 0;
    const Plan* inside = nullptr;  // null: both have one type
  };
  struct Plan {
    const TypeInfo* from = nullptr;
    const TypeInfo* to = nullptr;
    std::vector<Step> steps{};
  };

  std::map<std::pair<const TypeInfo*, const TypeInfo*>, std::unique_ptr<Plan>> plans_;
  const Plan* root_;

  const Plan* PlanFor(const TypeInfo& from, const TypeInfo& to);
  static void Run(const Plan& plan, const char* from, char* to);
  static void RunStep(const Step& step, const char* from, char* to);
};

}  // namespace kube::internal

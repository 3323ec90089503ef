// Types of Kubernetes' Go modules that kubexx has a type for: metav1.Time is kube::Time, corev1.PodSpec kube::core::v1::PodSpec.
//
//   std::optional<GoBuiltin> known = FindGoBuiltin("k8s.io/api/core/v1", "Protocol");    // kube::String
//
// The table is generated with those of the built-in kinds (codegen/schemas.py), in the format of builtin_types.h: `P` is the namespace of a
// package, `T` the type, `M` a marker of it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/model.h"

namespace kube::generate {

struct GoBuiltin {
  Type type;
  std::vector<Marker> markers;  // what the schema of the type says beyond its type
  bool marshals = false;        // it has a MarshalJSON method, which a struct that embeds it inherits
};

std::optional<GoBuiltin> FindGoBuiltin(std::string_view package, std::string_view name);

std::span<const BuiltinText> GoBuiltinTexts();

}  // namespace kube::generate

// Roughly how many bytes members take: front ends put a struct that makes others large into a kube::Box, where an empty one costs a
// pointer.
#pragma once

#include <cstddef>

#include "generate/model.h"

namespace kube::generate {

inline constexpr std::size_t kLargeStruct = 1024;   // from which on a required struct is in a Box, too; optional ones always are
inline constexpr std::size_t kBuiltinStruct = 256;  // a struct of kubexx
inline constexpr std::size_t kHandle = 8;           // a list, a map, a Box; the unknown fields of a struct

// With std::optional around it.
constexpr std::size_t BytesOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
      return 2;
    case Scalar::kInt32:
      return 8;
    case Scalar::kInt64:
    case Scalar::kDouble:
    case Scalar::kTime:
    case Scalar::kMicroTime:
    case Scalar::kDuration:
    case Scalar::kRawJson:
      return 16;
    case Scalar::kIntOrString:
      return 32;
    default:
      return 24;
  }
}

}  // namespace kube::generate

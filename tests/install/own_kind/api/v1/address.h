#pragma once

#include <kube/kind.h>

namespace own::v1 {

// +kubebuilder:validation:MaxLength=43
using Address = kube::String;

}  // namespace own::v1

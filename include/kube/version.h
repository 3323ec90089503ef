// The version of kubexx that a program is compiled against.
//
// Follows semantic versioning. While the major version is 0, a new minor version may change the API.
#pragma once

#define KUBE_VERSION_MAJOR 0         // incompatible changes
#define KUBE_VERSION_MINOR 1         // features
#define KUBE_VERSION_PATCH 0         // fixes
#define KUBE_VERSION_STRING "0.1.0"  // the three parts

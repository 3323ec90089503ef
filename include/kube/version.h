// The version of kubexx that a program is compiled against.
//
// Follows semantic versioning. While the major version is 0, a new minor version may change the API.
#pragma once

#define KUBE_VERSION_MAJOR 0
#define KUBE_VERSION_MINOR 1
#define KUBE_VERSION_PATCH 0
#define KUBE_VERSION_STRING "0.1.0"

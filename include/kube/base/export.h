// KUBE_EXPORT marks what a shared build of kubexx makes visible. Everything else is hidden.
#pragma once

#define KUBE_EXPORT __attribute__((visibility("default")))

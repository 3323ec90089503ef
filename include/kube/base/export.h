// KUBE_EXPORT marks the symbols that a shared library build exports. All others are hidden.
#pragma once

#define KUBE_EXPORT __attribute__((visibility("default")))  // Exports a class, a function or a variable.

// std::function, without the containers and algorithms that <functional> includes.
//
// For kubexx' public headers, which every program compiles (docs/adr/0020-light-headers.md). Programs include <functional>.
#pragma once

#include <cstddef>  // defines the macros of libstdc++

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE == 12
#include <bits/std_function.h>  // IWYU pragma: export
#else
#include <functional>  // IWYU pragma: export
#endif

// std::unique_ptr, std::shared_ptr and std::weak_ptr, without the algorithms, streams and atomics that <memory> includes.
//
// For kubexx' public headers, which every program compiles (docs/adr/0020-light-headers.md). Programs include <memory>.
#pragma once

#include <cstddef>  // defines the macros of libstdc++

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE == 12
#include <bits/shared_ptr.h>  // IWYU pragma: export
#include <bits/unique_ptr.h>  // IWYU pragma: export
#else
#include <memory>  // IWYU pragma: export
#endif

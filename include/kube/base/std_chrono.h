// The durations, time points and clocks of <chrono>, without its calendar, time zones and streams.
//
// For kubexx' public headers, which every program compiles (docs/adr/0020-light-headers.md). Programs include <chrono>.
#pragma once

#include <cstddef>  // defines the macros of libstdc++

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE == 12
#include <bits/chrono.h>  // IWYU pragma: export
#else
#include <chrono>  // IWYU pragma: export
#endif

# Third-party libraries. All are private to the room that uses them; see scripts/check-layers for which folder may include what.
# What a room links is looked for when the room is declared (kube_add_room), so a build without some rooms does not ask for their libraries.
# Here is what only the build needs: Boost (Asio and Beast) and libcurl are used as headers. libcurl is loaded at run time, see
# src/transport/curl/libcurl.h; tests link CURL::libcurl.

include(kubexxDependencies)

find_package(Boost 1.74 REQUIRED)
find_package(CURL 7.80 REQUIRED)

if(KUBEXX_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  include(GoogleTest)
endif()
if(KUBEXX_BENCH)
  find_package(benchmark REQUIRED)
endif()

# How to compile and link on this machine: ccache, lld, link pool, sanitizers. Only the top-level project decides these things;
# a project that uses kubexx as a subdirectory keeps its own settings.

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(KUBEXX_CCACHE ccache)
mark_as_advanced(KUBEXX_CCACHE)
if(KUBEXX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for to cache compilations that use a precompiled header.
  set(_kube_ccache_env "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime")
  cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${CMAKE_BINARY_DIR}" NORMALIZE _kube_in_tree)
  if(_kube_in_tree)
    # Paths relative to the build folder: another clone of the project finds the same entries.
    list(APPEND _kube_ccache_env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" "CCACHE_NOHASHDIR=1")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;${_kube_ccache_env};${KUBEXX_CCACHE}")
endif()

# Linking with sanitizers needs much memory: one at a time, while compilations go on beside it.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS kubexx_link=1)
set(CMAKE_JOB_POOL_LINK kubexx_link)

# Debian's lld-14 has no plain `ld.lld` in the search path, which is the name that -fuse-ld=lld looks for: give it one.
find_program(KUBEXX_LLD NAMES ld.lld ld.lld-14)
mark_as_advanced(KUBEXX_LLD)
if(KUBEXX_LLD)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lld")
  file(CREATE_LINK "${KUBEXX_LLD}" "${CMAKE_BINARY_DIR}/lld/ld.lld" SYMBOLIC)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options("--ld-path=${KUBEXX_LLD}")
  else()
    add_link_options("-B${CMAKE_BINARY_DIR}/lld" -fuse-ld=lld)
  endif()
  # What is hardly ever run, as the ways of exceptions, lies apart from the rest: less of a program has to be in memory.
  add_link_options(-Wl,-z,keep-text-section-prefix)
endif()

if(KUBEXX_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "KUBEXX_FUZZ needs clang (preset `fuzz`)")
endif()

if(KUBEXX_SANITIZE)
  add_compile_options("-fsanitize=${KUBEXX_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options("-fsanitize=${KUBEXX_SANITIZE}")
  set(KUBEXX_SANITIZE_FLAGS "-fsanitize=${KUBEXX_SANITIZE} -fno-sanitize-recover=all")
endif()
if(KUBEXX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# ThreadSanitizer of these compilers cannot map its shadow on kernels with very random address spaces; run without randomisation there.
if(KUBEXX_SANITIZE MATCHES "thread" AND NOT DEFINED CACHE{KUBEXX_TSAN_RUNS})
  file(WRITE "${CMAKE_BINARY_DIR}/tsan_probe.cc" "int main() { return 0; }\n")
  try_run(_kube_tsan_exit _kube_tsan_compiles "${CMAKE_BINARY_DIR}/tsan_probe" "${CMAKE_BINARY_DIR}/tsan_probe.cc"
    COMPILE_DEFINITIONS -fsanitize=thread LINK_OPTIONS -fsanitize=thread)
  if(_kube_tsan_compiles AND _kube_tsan_exit EQUAL 0)
    set(KUBEXX_TSAN_RUNS ON CACHE INTERNAL "")
  else()
    set(KUBEXX_TSAN_RUNS OFF CACHE INTERNAL "")
  endif()
endif()
if(KUBEXX_SANITIZE MATCHES "thread" AND NOT KUBEXX_TSAN_RUNS)
  find_program(KUBEXX_SETARCH setarch)
  if(KUBEXX_SETARCH)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${KUBEXX_SETARCH};--addr-no-randomize")
  endif()
endif()

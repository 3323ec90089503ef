# The third-party libraries that rooms link: how each is found, by the build and by the installed package. Which room uses which one is said once,
# by PRIVATE_DEPS of its kube_add_room.

# <target>|<find_package name, or - if only pkg-config finds it>|<pkg-config module>|<minimum version>
set(KUBEXX_THIRD_PARTY
  "Threads::Threads|Threads||"
  "fmt::fmt|fmt|fmt|9"
  "simdjson::simdjson|simdjson|simdjson|3"
  "OpenSSL::SSL|OpenSSL|openssl|3"
  "OpenSSL::Crypto|OpenSSL|openssl|3"
  "ZLIB::ZLIB|ZLIB|zlib|"
  "PkgConfig::xxhash|-|libxxhash|0.8"
  "PkgConfig::libyaml|-|yaml-0.1|0.2.2"
  "PkgConfig::nghttp2|-|libnghttp2|1.43"
  "PkgConfig::re2|-|re2|")

# kubexx_third_party_row(<target> <prefix>): sets <prefix>_PACKAGE, <prefix>_MODULE and <prefix>_VERSION; <prefix>_KNOWN is false for other targets.
function(kubexx_third_party_row target prefix)
  set(${prefix}_KNOWN FALSE PARENT_SCOPE)
  foreach(row IN LISTS KUBEXX_THIRD_PARTY)
    string(REPLACE "|" ";" fields "${row}")
    list(GET fields 0 name)
    if(name STREQUAL target)
      list(GET fields 1 package)
      list(GET fields 2 module)
      list(GET fields 3 version)
      set(${prefix}_KNOWN TRUE PARENT_SCOPE)
      set(${prefix}_PACKAGE "${package}" PARENT_SCOPE)
      set(${prefix}_MODULE "${module}" PARENT_SCOPE)
      set(${prefix}_VERSION "${version}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# kubexx_find_third_party(<target> <missing>): looks for one library unless its target exists. <missing> is empty, or says what was not found.
# The targets are global: rooms in other folders use them too.
function(kubexx_find_third_party target missing)
  set(${missing} "" PARENT_SCOPE)
  if(TARGET ${target})
    return()
  endif()
  kubexx_third_party_row(${target} ROW)
  if(ROW_PACKAGE STREQUAL "-")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      string(REPLACE "PkgConfig::" "" name ${target})
      set(module ${ROW_MODULE})
      if(ROW_VERSION)
        string(APPEND module ">=${ROW_VERSION}")
      endif()
      pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    endif()
    set(how "pkg-config module ${ROW_MODULE}")
  else()
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
    find_package(${ROW_PACKAGE} ${ROW_VERSION} QUIET)
    set(how "CMake package ${ROW_PACKAGE}")
  endif()
  if(NOT TARGET ${target})
    string(STRIP "${how} ${ROW_VERSION}" how)
    set(${missing} "${how}" PARENT_SCOPE)
  endif()
endfunction()

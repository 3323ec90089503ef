# Third-party libraries. All are private to the room that uses them; see scripts/check-layers for who may use what.
# Targets: fmt::fmt, PkgConfig::xxhash, simdjson::simdjson, PkgConfig::libyaml, OpenSSL::SSL, OpenSSL::Crypto, PkgConfig::nghttp2, ZLIB::ZLIB,
# PkgConfig::re2, Threads::Threads; Boost::headers (Asio and Beast: headers only, so users of the installed package do not need it).
# Of libcurl only the headers are used (CURL::libcurl in tests): it is loaded at run time, see src/transport/curl/libcurl.h.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(simdjson 3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash>=0.8)
pkg_check_modules(libyaml REQUIRED IMPORTED_TARGET GLOBAL yaml-0.1>=0.2.2)
find_package(OpenSSL 3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(CURL 7.80 REQUIRED)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET GLOBAL re2)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET GLOBAL libnghttp2>=1.43)

if(KUBEXX_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  include(GoogleTest)
endif()
if(KUBEXX_BENCH)
  find_package(benchmark REQUIRED)
endif()

# Installation: headers, libraries, the CMake package `kubexx` and kubexx.pc.

include(CMakePackageConfigHelpers)

get_property(_rooms GLOBAL PROPERTY KUBEXX_BUILT_ROOMS)

# kubexx::kubexx is all rooms together.
add_library(kubexx_all INTERFACE)
add_library(kubexx::kubexx ALIAS kubexx_all)
set_target_properties(kubexx_all PROPERTIES EXPORT_NAME kubexx)
list(TRANSFORM _rooms PREPEND kubexx_ OUTPUT_VARIABLE _room_targets)
target_link_libraries(kubexx_all INTERFACE ${_room_targets})

install(TARGETS kubexx_all ${_room_targets} EXPORT kubexxTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/kube" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kubexx")
install(EXPORT kubexxTargets NAMESPACE kubexx:: DESTINATION "${_package_dir}")
configure_package_config_file(cmake/kubexxConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfig.cmake" INSTALL_DESTINATION "${_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kubexxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfigVersion.cmake" DESTINATION "${_package_dir}")

# pkg-config: users before what they use, as a static link needs. The prefix is found from the place of the file itself.
set(_pc_libs "")
foreach(_room IN LISTS _rooms)
  string(PREPEND _pc_libs "-lkubexx_${_room} ")
endforeach()
string(STRIP "${_pc_libs}" KUBEXX_PC_LIBS)
file(RELATIVE_PATH KUBEXX_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" KUBEXX_PC_PREFIX "${KUBEXX_PC_PREFIX}")
set(KUBEXX_PC_DEPENDENCIES "fmt libxxhash simdjson yaml-0.1 re2 openssl libnghttp2 zlib")
if(BUILD_SHARED_LIBS)
  set(KUBEXX_PC_REQUIRES "")
  set(KUBEXX_PC_REQUIRES_PRIVATE "${KUBEXX_PC_DEPENDENCIES}")
else()
  set(KUBEXX_PC_REQUIRES "${KUBEXX_PC_DEPENDENCIES}")
  set(KUBEXX_PC_REQUIRES_PRIVATE "")
endif()
configure_file(cmake/kubexx.pc.in "${CMAKE_CURRENT_BINARY_DIR}/kubexx.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kubexx.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

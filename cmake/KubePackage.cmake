# Installation: headers, libraries, programs, the CMake package `kubexx`, kubexx.pc and kubexx-testing.pc.
#
# Components of the package: `kubexx` (all rooms of production), `testing` (the test servers), and each room by its name. Components of the
# installation (cmake --install --component): kubexx_runtime (programs, shared libraries), kubexx_dev (headers, static libraries, package files,
# the kubexx command), kubexx_testing (everything of the test servers; with shared libraries also the kubexx command, which links them).

include(CMakePackageConfigHelpers)

set(_testing_rooms apiserver testing)
get_property(_rooms GLOBAL PROPERTY KUBEXX_BUILT_ROOMS)
set(_production_rooms ${_rooms})
list(REMOVE_ITEM _production_rooms ${_testing_rooms})
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kubexx")

# kubexx::kubexx is all rooms of production together.
add_library(kubexx_all INTERFACE)
add_library(kubexx::kubexx ALIAS kubexx_all)
set_target_properties(kubexx_all PROPERTIES EXPORT_NAME kubexx)
list(TRANSFORM _production_rooms PREPEND kubexx_ OUTPUT_VARIABLE _production_targets)
target_link_libraries(kubexx_all INTERFACE ${_production_targets})

# One export for each target: a find_package call defines only those that it can link.
function(kube_install_target target name runtime_component dev_component)
  install(TARGETS ${target} EXPORT kubexx_${name}_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${dev_component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${runtime_component} NAMELINK_COMPONENT ${dev_component}
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${runtime_component})
  install(EXPORT kubexx_${name}_targets NAMESPACE kubexx:: DESTINATION "${_package_dir}" COMPONENT ${dev_component})
endfunction()

foreach(_room IN LISTS _production_rooms)
  kube_install_target(kubexx_${_room} ${_room} kubexx_runtime kubexx_dev)
endforeach()
kube_install_target(kubexx_all kubexx kubexx_runtime kubexx_dev)
install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/kube" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT kubexx_dev
  FILES_MATCHING PATTERN "*.h" PATTERN apiserver EXCLUDE PATTERN testing EXCLUDE)
if(KUBEXX_TESTING)
  foreach(_room IN LISTS _testing_rooms)
    kube_install_target(kubexx_${_room} ${_room} kubexx_testing kubexx_testing)
    install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/kube/${_room}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kube" COMPONENT kubexx_testing
      FILES_MATCHING PATTERN "*.h")
  endforeach()
endif()

# The same file for builds with and without the test servers: those may be packaged apart, so the package looks for what is installed.
set(KUBEXX_PACKAGE_TABLE "")
foreach(_room IN LISTS _rooms)
  get_property(_deps GLOBAL PROPERTY KUBEXX_ROOM_${_room}_DEPS)
  get_property(_third_party GLOBAL PROPERTY KUBEXX_ROOM_${_room}_THIRD_PARTY)
  if(BUILD_SHARED_LIBS)
    set(_third_party "")  # linked by the shared library itself
  endif()
  string(APPEND KUBEXX_PACKAGE_TABLE "set(_kubexx_${_room}_rooms ${_deps})\nset(_kubexx_${_room}_third_party ${_third_party})\n")
endforeach()
string(APPEND KUBEXX_PACKAGE_TABLE "set(_kubexx_kubexx_rooms ${_production_rooms})\nset(_kubexx_kubexx_third_party)\n")
string(REPLACE ";" " " KUBEXX_PACKAGE_TABLE "${KUBEXX_PACKAGE_TABLE}")
string(REPLACE ";" " " KUBEXX_PACKAGE_ROOMS "${_rooms}")
configure_package_config_file(cmake/kubexxConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfig.cmake" INSTALL_DESTINATION "${_package_dir}"
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kubexxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/kubexxConfigVersion.cmake" cmake/kubexxDependencies.cmake
  cmake/kubexxGenerate.cmake cmake/kubexxProject.cmake
  DESTINATION "${_package_dir}" COMPONENT kubexx_dev)

# kube_install_pc(<name> <description> <requires> <component> <rooms>...): a pkg-config file. Users stand before what they use, as a static link
# needs. The prefix is found from the place of the file itself.
function(kube_install_pc name description requires component)
  set(libs "")
  set(modules "")
  foreach(room IN LISTS ARGN)
    string(PREPEND libs "-lkubexx_${room} ")
    get_property(third_party GLOBAL PROPERTY KUBEXX_ROOM_${room}_THIRD_PARTY)
    foreach(target IN LISTS third_party)
      kubexx_third_party_row(${target} ROW)
      list(APPEND modules ${ROW_MODULE})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES modules)
  list(JOIN modules " " modules)
  if(BUILD_SHARED_LIBS)
    set(KUBEXX_PC_REQUIRES "${requires}")
    set(KUBEXX_PC_REQUIRES_PRIVATE "${modules}")
  else()
    string(STRIP "${requires} ${modules}" KUBEXX_PC_REQUIRES)
    set(KUBEXX_PC_REQUIRES_PRIVATE "")
  endif()
  string(STRIP "${libs}" KUBEXX_PC_LIBS)
  set(KUBEXX_PC_NAME "${name}")
  set(KUBEXX_PC_DESCRIPTION "${description}")
  file(RELATIVE_PATH KUBEXX_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" KUBEXX_PC_PREFIX "${KUBEXX_PC_PREFIX}")
  configure_file(cmake/kubexx.pc.in "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${component})
endfunction()

kube_install_pc(kubexx "${PROJECT_DESCRIPTION}" "" kubexx_dev ${_production_rooms})
if(KUBEXX_TESTING)
  kube_install_pc(kubexx-testing "Kubernetes API servers to test kubexx programs on" "kubexx = ${PROJECT_VERSION}" kubexx_testing ${_testing_rooms})
endif()

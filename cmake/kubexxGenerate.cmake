# kubexx_generate(): kinds of your own in a CMake project (docs/own-kinds.md). Part of this build and of the installed package.

cmake_policy(VERSION 3.25)  # for the functions below, whatever version the project asks for

# Sets `out` to the command that generates, which runs on the build machine: KUBEXX_COMMAND if it is set, else the one of this build, else the
# one beside the installed package, else the one on PATH. Nothing is cached, so a project that changes to another installation uses its command.
function(_kubexx_find_command out)
  if(KUBEXX_COMMAND)
    if(NOT EXISTS "${KUBEXX_COMMAND}" OR IS_DIRECTORY "${KUBEXX_COMMAND}")
      message(FATAL_ERROR "kubexx_generate: KUBEXX_COMMAND is ${KUBEXX_COMMAND}, which is not a file; set it to the path of the kubexx command")
    endif()
    set(${out} "${KUBEXX_COMMAND}" PARENT_SCOPE)
    return()
  endif()
  if(TARGET kubexx::command AND NOT CMAKE_CROSSCOMPILING)
    set(${out} kubexx::command PARENT_SCOPE)
    return()
  endif()
  set(found found-NOTFOUND)
  get_property(bin_dir GLOBAL PROPERTY KUBEXX_BIN_DIR)  # of the installed package
  if(bin_dir AND NOT CMAKE_CROSSCOMPILING)
    find_program(found kubexx PATHS "${bin_dir}" NO_DEFAULT_PATH NO_CACHE)
  endif()
  # Not below CMAKE_FIND_ROOT_PATH, nor beside the package if cross-compiling: those programs are for the machine that runs the project.
  set(elsewhere "")
  if(CMAKE_CROSSCOMPILING)
    set(elsewhere NO_PACKAGE_ROOT_PATH NO_CMAKE_PATH NO_CMAKE_SYSTEM_PATH)
  endif()
  find_program(found kubexx NO_CMAKE_FIND_ROOT_PATH ${elsewhere} NO_CACHE)
  if(NOT found)
    message(FATAL_ERROR "kubexx_generate: the kubexx command was not found. Install it (component kubexx_dev, or kubexx_testing with shared "
      "libraries; it is built with KUBEXX_TESTING and KUBEXX_APPS) or pass -DKUBEXX_COMMAND=/path/to/kubexx. If cross-compiling, that is a command "
      "for the build machine.")
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Adds the target manifests and the test, after all calls are known: roles and webhook configurations of a folder are written by one call, the
# one with a program if there is one, which also reads the headers of the others. The properties of target manifests carry that.
function(_kubexx_add_manifests target command manifests program program_arguments headers arguments)
  if(NOT TARGET manifests)
    add_custom_target(manifests)
  endif()
  string(MD5 key "${manifests}")
  get_target_property(owner manifests KUBEXX_OWNER_${key})
  get_target_property(owner_program manifests KUBEXX_PROGRAM_${key})
  if(program AND owner_program)
    message(FATAL_ERROR "kubexx_generate(${target}): MANIFESTS ${manifests} has the roles of PROGRAM ${owner_program} already (${owner}); two "
      "programs need two folders")
  endif()
  if(program OR NOT owner)
    set_target_properties(manifests PROPERTIES KUBEXX_OWNER_${key} ${target} KUBEXX_PROGRAM_${key} "${program}")
  endif()
  if(headers)
    set_property(TARGET manifests APPEND PROPERTY KUBEXX_HEADERS_${key} ${headers})
  endif()

  set(is_owner "$<STREQUAL:$<TARGET_PROPERTY:manifests,KUBEXX_OWNER_${key}>,${target}>")
  set(others "$<TARGET_PROPERTY:manifests,KUBEXX_HEADERS_${key}>")
  list(APPEND arguments --manifests "${manifests}")
  set(next "$<SEMICOLON>--sources=")  # such lists become arguments when they are expanded
  set(directory "${CMAKE_CURRENT_SOURCE_DIR}")
  set(comment "Writing the manifests of ${target}")
  if(program AND CMAKE_CROSSCOMPILING)
    # What the program registers is not known here, so the files that have it stay as they are.
    message(STATUS "kubexx_generate(${target}): cross-compiling, so ${program} cannot be run: target manifests writes CRDs only; build it for this "
      "machine for roles and webhook configurations")
    string(APPEND comment ": CRDs only, because ${program} is for another machine and cannot be run here")
    list(APPEND arguments --crds-only)
  else()
    list(APPEND arguments "$<IF:${is_owner},$<$<BOOL:${others}>:--sources=$<JOIN:${others},${next}>>,--crds-only>")
    if(program)
      # Sources are named from the folder of the program, as CMake does.
      set(directory "$<TARGET_PROPERTY:${program},SOURCE_DIR>")
      set(sources "$<FILTER:$<TARGET_GENEX_EVAL:${program},$<TARGET_PROPERTY:${program},SOURCES>>,INCLUDE,\\.(h|hh|hpp|cc|cpp|cxx)$>")
      list(APPEND arguments "$<$<BOOL:${sources}>:--sources=$<JOIN:${sources},${next}>>" "--program=$<TARGET_FILE:${program}>")
      foreach(argument IN LISTS program_arguments)
        list(APPEND arguments "--program-argument=${argument}")
      endforeach()
    endif()
  endif()
  add_custom_target(${target}_manifests COMMAND "${command}" generate ${arguments} DEPENDS "${command}" WORKING_DIRECTORY "${directory}"
    COMMENT "${comment}" COMMAND_EXPAND_LISTS VERBATIM)
  add_dependencies(manifests ${target}_manifests)
  if(TARGET ${command})
    set(command $<TARGET_FILE:${command}>)
  endif()
  add_test(NAME ${target}.manifests COMMAND "${command}" generate ${arguments} --check WORKING_DIRECTORY "${directory}" COMMAND_EXPAND_LISTS)
endfunction()

# kubexx_generate(<target> HEADERS <files> [BASE <folder>] [MANIFESTS <folder> [PROGRAM <target>] [PROGRAM_ARGUMENTS <flags>]]
#                 [OPTIONS <flags of kubexx generate>])
#   <target>    a static library of the headers' field tables, made in the build folder; programs that use the kinds link it
#   HEADERS     the headers with the types, by name: from a folder, the build cannot know its tables. Without any, <target> has no
#               tables, and PROGRAM is required: a program for built-in kinds
#   BASE        the folder that #include names the headers from, the current source folder unless given; users of <target> get it
#   MANIFESTS   the folder for manifests, which are meant to be committed: target <target>_manifests writes them, target manifests writes those of
#               all calls, and the test <target>.manifests fails if they are stale. CRDs, and what markers say about roles and webhooks
#   PROGRAM     an executable that uses kube::Main or ManagerFlags, also one that is added later: the manifests have the roles that it registers, and
#               markers of roles and webhooks count in its sources, too. It is run with --print-manifests, which needs no cluster
#   PROGRAM_ARGUMENTS  flags of the program that change what it needs, such as --leader-elect
#   OPTIONS     more flags, such as --min-kubernetes 1.28
function(kubexx_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "BASE;MANIFESTS;PROGRAM" "HEADERS;OPTIONS;PROGRAM_ARGUMENTS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kubexx_generate(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_HEADERS AND NOT ARG_PROGRAM)
    message(FATAL_ERROR "kubexx_generate(${target}): HEADERS is missing: which headers have the types?")
  endif()
  if((ARG_PROGRAM OR ARG_PROGRAM_ARGUMENTS) AND NOT (ARG_MANIFESTS AND ARG_PROGRAM))
    message(FATAL_ERROR "kubexx_generate(${target}): PROGRAM needs MANIFESTS, the folder for its roles, and PROGRAM_ARGUMENTS needs PROGRAM")
  endif()
  if(NOT TARGET kubexx::api)
    message(FATAL_ERROR "kubexx_generate(${target}): target kubexx::api is missing; call find_package(kubexx) with component kubexx or api first")
  endif()
  if(NOT ARG_BASE)
    set(ARG_BASE "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  get_filename_component(base "${ARG_BASE}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.kube")

  set(headers "")
  set(tables "")
  set(arguments --include "${base}")
  foreach(header IN LISTS ARG_HEADERS)
    get_filename_component(path "${header}" ABSOLUTE)
    file(RELATIVE_PATH name "${base}" "${path}")
    if(IS_DIRECTORY "${path}" OR NOT EXISTS "${path}")
      message(FATAL_ERROR "kubexx_generate(${target}): ${header} is not a file; list each header with types by its name")
    endif()
    if(name MATCHES "^\\.\\./")
      message(FATAL_ERROR "kubexx_generate(${target}): ${header} lies outside of ${base}; BASE names the folder that #include names it from")
    endif()
    list(APPEND headers "${path}")
    list(APPEND arguments --headers "${path}")
    # As `kubexx generate` names them.
    string(REGEX REPLACE "\\.[^./]*$" "" name "${name}")
    string(REPLACE "/" "_" name "${name}")
    list(APPEND tables "${folder}/${name}.kube.cc")
  endforeach()
  list(APPEND arguments ${ARG_OPTIONS})
  _kubexx_find_command(command)

  if(NOT headers)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${base}>")
    target_link_libraries(${target} INTERFACE kubexx::api)
    get_filename_component(manifests "${ARG_MANIFESTS}" ABSOLUTE)
    _kubexx_add_manifests(${target} "${command}" "${manifests}" "${ARG_PROGRAM}" "${ARG_PROGRAM_ARGUMENTS}" "" "${ARG_OPTIONS}")
    return()
  endif()

  # The command does not touch tables whose content stays the same, so nothing is recompiled for them; the stamp records when it ran. The depfile
  # lists the headers that it read, including those that others include.
  set(stamp "${folder}/stamp")
  add_custom_command(OUTPUT "${stamp}" BYPRODUCTS ${tables}
    COMMAND "${command}" generate ${arguments} --tables "${folder}" --all-tables --depfile "${stamp}.d"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${command}" ${headers} DEPFILE "${stamp}.d" COMMENT "Generating the field tables of ${target}" VERBATIM)
  add_custom_target(${target}_tables DEPENDS "${stamp}")
  set_source_files_properties(${tables} PROPERTIES GENERATED TRUE SKIP_PRECOMPILE_HEADERS ON)
  add_library(${target} STATIC ${tables})
  add_dependencies(${target} ${target}_tables)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${base}>")
  # All that tables need of kubexx; a program links what it uses beyond that.
  target_link_libraries(${target} PUBLIC kubexx::api)

  if(ARG_MANIFESTS)
    get_filename_component(manifests "${ARG_MANIFESTS}" ABSOLUTE)
    _kubexx_add_manifests(${target} "${command}" "${manifests}" "${ARG_PROGRAM}" "${ARG_PROGRAM_ARGUMENTS}" "${headers}" "${arguments}")
  endif()
endfunction()

# How a module of ours becomes a library: every .c of its folders, all warnings, includes from the root.
include_guard(GLOBAL)

function(edubba_library target)
    set(sources)
    foreach(folder ${ARGN})
        file(GLOB found CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cc)
        if(NOT found)
            message(FATAL_ERROR "no sources in ${folder}")
        endif()
        list(APPEND sources ${found})
    endforeach()
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    foreach(source ${sources})
        if(source MATCHES "\\.cc$")
            set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wall;-Wextra")
        endif()
    endforeach()
    target_link_libraries(${target} PRIVATE project_warnings_c)
endfunction()

# The warnings are about C; our one C++ file gets its own.
add_library(project_warnings_c INTERFACE)
get_target_property(project_warning_options project_warnings INTERFACE_COMPILE_OPTIONS)
target_compile_options(project_warnings_c INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${project_warning_options}>")

# edubba_tell_commit(TARGET): the target's sources may include <edubba_commit.h>, which says EDUBBA_COMMIT.  Asked at every
# build, not when CMake is run, as commits come in between; so no library has it, or each commit would link everything anew.
set(EDUBBA_COMMIT "" CACHE STRING "The commit that is built, as metrics tell it; empty: what git says, else 'unknown'")
function(edubba_tell_commit target)
    set(folder ${PROJECT_BINARY_DIR}/made)
    if(NOT TARGET edubba_commit)
        add_custom_target(edubba_commit
            COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DCOMMIT=${EDUBBA_COMMIT}
                -DOUT=${folder}/edubba_commit.h -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
            BYPRODUCTS ${folder}/edubba_commit.h VERBATIM)
    endif()
    add_dependencies(${target} edubba_commit)
    target_include_directories(${target} PRIVATE ${folder})
endfunction()

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

# cmake/warnings.cmake -- one INTERFACE target every one of our targets links.
include_guard(GLOBAL)
add_library(project_warnings INTERFACE)
target_compile_options(project_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Werror
    -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align
    -Wstrict-prototypes -Wold-style-definition -Wmissing-prototypes -Wmissing-declarations
    -Wredundant-decls -Wnested-externs -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Walloca
    -Wformat=2 -Wnull-dereference -Wdouble-promotion -Wfloat-equal -Wno-format-truncation
    -Wswitch-enum -Wimplicit-fallthrough -Wunused-result -Wdate-time
    -fno-common -fno-strict-aliasing -fno-omit-frame-pointer
    $<$<C_COMPILER_ID:GNU>:-Warith-conversion -Wformat-signedness -Wlogical-op
        -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wtrampolines -Wuse-after-free=3 -Wstack-usage=65536>
    $<$<C_COMPILER_ID:Clang>:-Wno-unknown-warning-option -Wcomma
        -Wunreachable-code-aggressive -Wframe-larger-than=65536>
    $<$<CONFIG:Release,RelWithDebInfo>:-O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
        -fstack-clash-protection>)
# Assertions stay on in every configuration.  CMake's own Release flags define NDEBUG, so ASSERT
# never looks at NDEBUG, and we say -O2 -g ourselves.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")

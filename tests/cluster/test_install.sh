#!/bin/bash
# What `cmake --install` puts down is enough to build a program against: by pkg-config, by CMake, in C and
# in C++; it exports nothing but edubba_*; and the program works against a cluster, where one can be started.
#   test_install.sh BUILD_DIRECTORY
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:?usage: test_install.sh BUILD_DIRECTORY}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/edubba-install-XXXXXX")
prefix=$work/prefix
passed=0 failed=0
pids=()

finish() {
    { for pid in "${pids[@]}"; do kill -KILL "$pid"; wait "$pid"; done; } 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

# check WHAT COMMAND...
check() {
    local what=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        passed=$((passed + 1)); echo "ok: $what"
    else
        failed=$((failed + 1)); echo "FAILED: $what"; tail -n 15 "$work/output"
    fi
}

exports_only_ours() {
    local others
    others=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v -e '^edubba_' -e '^EDUBBA_')
    [[ -z $others ]] || { echo "$others"; return 1; }
}

exports_all_of_the_header() {
    local name missing=0
    for name in $(grep -ohE '\bedubba_[a-z0-9_]+\(' "$prefix"/include/edubba*.h | tr -d '(' | sort -u |
        grep -v -e '^edubba_bytes_of$' -e '^edubba_bytes_of_text$' -e '^edubba_completion$'); do
        nm -D --defined-only "$library" | grep -qE " $name(@|$)" || { echo "not exported: $name"; missing=1; }
    done
    return $missing
}

has_soname() { readelf -d "$library" | grep -q 'SONAME.*\[libedubba.so.0\]'; }
says_usage() { LD_LIBRARY_PATH=$libraries "$1" | grep -q '^usage: example TABLE'; }
fails_without_cluster() {
    EDUBBA_MASTERS=tcp://127.0.0.1:1 LD_LIBRARY_PATH=$libraries timeout 120 "$1" T 2>&1 | tee /dev/stderr |
        grep -q 'UNAVAILABLE: .*tcp://127.0.0.1:1'
}
build_by_pkg_config() {
    # shellcheck disable=SC2046  # the flags are words
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$ROOT/client/example/example.c" \
        $(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs edubba) -o "$work/by_pkg_config"
}
build_static() {
    # shellcheck disable=SC2046
    cc -std=c11 "$ROOT/client/example/example.c" -I"$prefix/include" "$libraries/libedubba.a" \
        $(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --static --libs-only-l edubba | sed 's/-ledubba//') \
        -o "$work/static" &&
        ! readelf -d "$work/static" | grep -q libedubba
}
build_by_cmake() {
    cmake -G Ninja -S "$ROOT/client/example" -B "$work/by_cmake" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$work/by_cmake"
}
header_is_cplusplus() {
    echo '#include <edubba_keys.h>
int main() { struct edubba_key key; edubba_key_init(&key); return (int)edubba_key_bytes(&key).size; }' >"$work/t.cc"
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror "$work/t.cc" \
        $(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs edubba) -o "$work/by_cplusplus" &&
        LD_LIBRARY_PATH=$libraries "$work/by_cplusplus"
}

every_program_has_a_man_page() {
    local program name
    cmake --install "$build" --prefix "$work/all" >/dev/null || return 1
    for program in "$work"/all/bin/* "$work"/all/sbin/*; do
        [[ -x $program ]] || continue
        name=$(basename "$program")
        page=$(find "$work/all/share/man" -name "$name.[18]")
        [[ -s $page ]] && grep -q '^\.SH EXIT STATUS\|exit status' "$page" && grep -q '^\.SH SEE ALSO' "$page" || { echo "$name: ${page:-no page}"; return 1; }
    done
}

# Those that programs, the README and the examples of configuration name.  (Behind the test above: what it has installed.)
every_page_is_installed() {
    local doc=$work/all/share/doc/edubba page pages
    pages=$({ strings "$work"/all/bin/* "$work"/all/sbin/* 2>/dev/null; cat "$doc/README.md" "$doc"/conf/*; } |
        grep -aoE 'docs/[a-z-]+\.(md|png)' | sort -u)
    [[ $pages == *docs/operations.md* && $pages == *docs/console.png* ]] || { echo "pages: $pages"; return 1; }
    for page in $pages; do [[ -s $doc/$page ]] || { echo "$page is not there"; return 1; }; done
}

# launch NAME BINARY SETTING...
launch() {
    local name=$1 binary=$2 arguments=()
    shift 2
    for setting in "$@"; do arguments+=(--set "$setting"); done
    : >"$work/$name.ready"
    "$binary" "${arguments[@]}" --ready-fd 3 3>"$work/$name.ready" >>"$work/$name.log" 2>&1 </dev/null &
    pids+=($!)
    for _ in $(seq 1200); do [[ -s $work/$name.ready ]] && return 0; sleep 0.05; done
    cat "$work/$name.log"
    return 1
}
source "$ROOT/tests/cluster/ports.sh"
start_cluster() {
    claim_ports || return 1
    local port=$PORT
    export EDUBBA_MASTERS=tcp://127.0.0.1:$port
    launch master "$build/master/edubba-master" "folder=$work/master" "address=$EDUBBA_MASTERS" "http.address=127.0.0.1:0" &&
        launch server "$build/tabletserver/edubba-tabletserver" "folder=$work/server" "masters=$EDUBBA_MASTERS" \
            "address=tcp://127.0.0.1:0" "http.address=127.0.0.1:0"
}
example_runs() {
    local ebt=$build/client/cli/ebt
    for _ in $(seq 600); do "$ebt" servers 2>/dev/null | grep -q 'tcp://' && break; sleep 0.05; done
    "$ebt" createtable visits 'families=cf,sum:never:intsum' || return 1
    LD_LIBRARY_PATH=$libraries timeout 120 "$work/by_cmake/example" visits &&
        LD_LIBRARY_PATH=$libraries timeout 120 "$work/by_pkg_config" visits | tee /dev/stderr >"$work/said"
    # A plain cell of 8 bytes is no number: the family says what is one.
    grep -qx 'sum:visits = 2' "$work/said" && grep -qx 'cf:greeting = welcome!' "$work/said"
}

check "install" cmake --install "$build" --prefix "$prefix" --component client
library=$(find "$prefix" -name 'libedubba.so.0' | head -n 1)
libraries=$(dirname "$library")
check "the library has a SONAME" has_soname
check "it exports nothing but edubba_*" exports_only_ours
check "it exports all that the header declares" exports_all_of_the_header
check "a C11 program by pkg-config" build_by_pkg_config
check "it runs" says_usage "$work/by_pkg_config"
check "a program with the static library" build_static
check "it runs" says_usage "$work/static"
check "a program by find_package(edubba)" build_by_cmake
check "it runs" says_usage "$work/by_cmake/example"
check "without a cluster it says so" fails_without_cluster "$work/by_cmake/example"
check "the header is C++ too" header_is_cplusplus
if [[ -x $build/master/edubba-master && -x $build/tabletserver/edubba-tabletserver && -x $build/client/cli/ebt ]]; then
    check "every program has a man page, with exit status and what else to see" every_program_has_a_man_page
    check "every page that is named is there, too" every_page_is_installed
    check "a cluster starts" start_cluster
    check "the example writes and reads" example_runs
fi
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]

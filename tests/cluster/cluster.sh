# Sourced by the tests of real processes: a cluster of its own in a folder of its own.
#
#   cluster_begin [SERVERS]      start a master and so many tablet servers; sets WORK, EDUBBA_MASTERS
#   start_master, start_server N, start_gateway, kill_hard NAME, stop_soft NAME, pid_of NAME
#   ebt ...                      the command against this cluster
# Everything is stopped and removed when the shell exits.
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-$ROOT/build/release}
source "$(dirname "${BASH_SOURCE[0]}")/ports.sh"
[[ -n ${PORT:-} ]] || claim_ports || exit 1
WORK=$(mktemp -d "${TMPDIR:-/tmp}/edubba-test-XXXXXX")
declare -A PIDS=()
export EDUBBA_MASTERS=tcp://127.0.0.1:$PORT
PASSED=0 FAILED=0 SKIPPED=0

ebt() { "$BUILD/client/cli/ebt" "$@"; }
total() { awk '{ sum += $1 } END { print sum + 0 }'; } # of numbers, one a line
pid_of() { echo "${PIDS[$1]:-}"; }

cluster_end() {
    local name
    for name in "${!PIDS[@]}"; do kill -KILL "${PIDS[$name]}" 2>/dev/null; wait "${PIDS[$name]}" 2>/dev/null; done
    if [[ $FAILED -gt 0 && -n ${KEEP:-} ]]; then echo "kept: $WORK"; else rm -rf "$WORK"; fi
}
trap cluster_end EXIT

# launch NAME BINARY SETTING...: start and wait until it says READY.  LAUNCHER: what to put before the binary;
# LAUNCH_ONLY=1: do not wait; LAUNCH_CONFIG: a configuration file besides the settings.
LAUNCHER=() LAUNCH_ONLY='' LAUNCH_CONFIG=''
launch() {
    local name=$1 binary=$2 arguments=(${LAUNCH_CONFIG:+--config "$LAUNCH_CONFIG"})
    shift 2
    for setting in "$@"; do arguments+=(--set "$setting"); done
    rm -f "$WORK/$name.ready"; : >"$WORK/$name.ready"
    "${LAUNCHER[@]}" "$binary" "${arguments[@]}" --ready-fd 3 3>"$WORK/$name.ready" >>"$WORK/$name.log" 2>&1 </dev/null &
    PIDS[$name]=$!
    [[ -z $LAUNCH_ONLY ]] || return 0
    local begun=$SECONDS
    until [[ -s $WORK/$name.ready ]]; do
        if ! kill -0 "${PIDS[$name]}" 2>/dev/null || ((SECONDS - begun > 120)); then
            echo "$name did not become ready:"; tail -n 5 "$WORK/$name.log"; unset "PIDS[$name]"; return 1
        fi
        sleep 0.02
    done
}

start_master() {
    launch master "$BUILD/master/edubba-master" "folder=$WORK/master" "address=tcp://127.0.0.1:$PORT" \
        "http.address=127.0.0.1:$((PORT + 100))" "$@"
}
start_server() {
    local n=$1; shift
    launch "server$n" "$BUILD/tabletserver/edubba-tabletserver" "folder=$WORK/server$n" \
        "address=tcp://127.0.0.1:$((PORT + n))" "http.address=127.0.0.1:$((PORT + 100 + n))" \
        "masters=$EDUBBA_MASTERS" "$@"
}
# At BIGTABLE_EMULATOR_HOST; its HTTP port is 100 higher.
export BIGTABLE_EMULATOR_HOST=127.0.0.1:$((PORT + 50))
start_gateway() {
    launch gateway "$BUILD/gateway/edubba-gateway" "address=$BIGTABLE_EMULATOR_HOST" \
        "http.address=127.0.0.1:$((PORT + 150))" "masters=$EDUBBA_MASTERS" "$@"
}
kill_hard() { kill -KILL "${PIDS[$1]}"; wait "${PIDS[$1]}" 2>/dev/null; unset "PIDS[$1]"; }
stop_soft() {
    local status=0
    kill -TERM "${PIDS[$1]}"; wait "${PIDS[$1]}" || status=$?
    unset "PIDS[$1]"
    return $status
}
cluster_begin() {
    local servers=${1:-1} n
    start_master || exit 1
    for ((n = 1; n <= servers; n++)); do start_server "$n" || exit 1; done
    for _ in $(seq 1200); do
        [[ $(ebt --json servers 2>/dev/null | grep -o '"alive": *true' | wc -l) -ge $servers ]] && return
        sleep 0.05
    done
    echo "the servers have not joined"; exit 1
}

# So long may it take until all copies count: a member that was removed again and again waits up to 64 s (rule 13), and on
# a busy machine one is.
WHOLE_SECONDS=150

ok() { PASSED=$((PASSED + 1)); }
bad() { FAILED=$((FAILED + 1)); printf 'FAILED: %s\n' "$*"; }
skip() { SKIPPED=$((SKIPPED + 1)); printf 'skipped: %s\n' "$*"; }
# same WHAT GOT WANTED: nothing is the same as nothing also where neither command has worked, so WANTED is never empty
same() {
    if [[ -z $3 ]]; then bad "$1: there is nothing to compare with"; return; fi
    if [[ $2 == "$3" ]]; then ok; else bad "$1"; diff <(printf '%s\n' "$3") <(printf '%s\n' "$2") | head -n 20; fi
}
# none WHAT GOT: it is empty
none() { if [[ -z $2 ]]; then ok; else bad "$1"; head -n 20 <<<"$2"; fi; }

# await WHAT SECONDS COMMAND...: until it succeeds
await() {
    local what=$1 seconds=$2 begun=$SECONDS await_table
    shift 2
    until "$@"; do
        ((SECONDS - begun < seconds)) || {
            bad "$what: not within $seconds s"
            for await_table in $(ebt ls 2>/dev/null | awk '{ print $1 }'); do ebt tablets "$await_table"; done
            return 1
        }
        sleep 0.2
    done
    ok
}

# says WHAT EXIT PATTERN COMMAND...: the command ends with that status and prints something like it.
says() {
    local what=$1 wanted=$2 pattern=$3 output status=0
    shift 3
    output=$("$@" 2>&1 </dev/null) || status=$?
    if [[ $status == "$wanted" ]] && grep -qaE -- "$pattern" <<<"$output"; then ok
    else bad "$what: exit $status (wanted $wanted), output: ${output:0:300}"; fi
}
# says_again: the same, of a command that is given little time to hear something in: up to five times.
says_again() {
    local said
    for _ in 1 2 3 4; do
        said=$(FAILED=0; says "$@"; ((FAILED == 0))) && { ok; return; }
    done
    says "$@"
}
finish() {
    printf '%d passed, %d failed' "$PASSED" "$FAILED"
    ((SKIPPED == 0)) || printf ', %d skipped' "$SKIPPED"
    echo
    [[ $FAILED == 0 ]]
    exit $?
}

#!/usr/bin/env bash
# Every limit of the data model: what is at it is taken, what is over it is refused by name, by the
# client library and by the server itself, and costs neither data nor the server's memory.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
start_master || exit 1
start_server 1 "memory_limit=512 MiB" "memtable_limit=128 MiB" || exit 1
for _ in $(seq 100); do ebt --json servers 2>/dev/null | grep -q '"alive": *true' && break; sleep 0.05; done
ebt createtable T families=f,sum::intsum,seen::inthll || bad "createtable"
ebt set T keep f:a=1@1000 || bad "set"

# driver NAME COMMAND...: adds up what it counted itself.
driver() {
    local name=$1 output line
    shift
    output=$("$@" 2>&1)
    line=$(tail -n 1 <<<"$output")
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        PASSED=$((PASSED + BASH_REMATCH[1])) FAILED=$((FAILED + BASH_REMATCH[2]))
        head -n -1 <<<"$output"
    else
        bad "$name: ${output:0:400}"
    fi
}
memory_mib() { echo $(($(sed -nE 's/^VmHWM:\s+([0-9]+) kB/\1/p' "/proc/$(pid_of server1)/status") / 1024)); }

driver client "$BUILD/tests/cluster/limits_client" T
driver wire "$BUILD/tests/cluster/limits_wire" "$EDUBBA_MASTERS" T
echo "the server's memory was $(memory_mib) MiB at most"
if (($(memory_mib) < 2048)); then ok; else bad "the server held $(memory_mib) MiB"; fi
same "only what is good is there" "$(ebt --json read T)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'

# The same after a crash: what was refused is not in the log either.
kill_hard server1
start_server 1 "memory_limit=512 MiB" "memtable_limit=128 MiB" || bad "it does not start again"
same "and after kill -9" "$(ebt --json read T)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'
finish

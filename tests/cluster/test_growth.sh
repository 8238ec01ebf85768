#!/usr/bin/env bash
# A one-machine install gets two servers more, and its table two copies more, while it is written to: what
# was there is taught to them, nothing is lost or doubled, and the first server may then die.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

# whole COPIES: all tablets have so many; no answer says nothing.
whole() {
    local tablets
    tablets=$(ebt tablets load 2>/dev/null | grep "^[0-9]") && ! grep -qv " $1/$1 " <<<"$tablets"
}
becomes_whole() { await "all tablets have $1 copies" $WHOLE_SECONDS whole "$1"; }

start_master || exit 1
start_server 1 || exit 1
for _ in $(seq 1200); do ebt --json servers 2>/dev/null | grep -q '"alive": *true' && break; sleep 0.05; done
says "a table with one copy" 0 '' ebt createtable load families=plain,sum::intsum splits=g,n
"$BUILD/tests/cluster/load_and_verify" "$EDUBBA_MASTERS" load 600 >"$WORK/load.out" 2>&1 &
load=$!
PIDS[load]=$load
sleep 3
says "split while it is alone" 0 '' ebt split load k
stop_soft server1 || bad "the server does not end well"
for n in 1 2 3; do start_server $n replicate=true || exit 1; done
becomes_whole 1
says "three copies are asked for" 0 '' ebt setreplication load replicas=3 min-in-sync=2
becomes_whole 3
kill_hard server1
sleep 4
start_server 1 replicate=true || exit 1
becomes_whole 3
kill -TERM $load
if wait $load; then ok; else bad "the load's comparison"; fi
unset 'PIDS[load]'
cat "$WORK/load.out"
line=$(tail -n 1 "$WORK/load.out")
[[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]] && { PASSED=$((PASSED + BASH_REMATCH[1])); FAILED=$((FAILED + BASH_REMATCH[2])); }
finish

#!/usr/bin/env bash
# Far more than the server can do, and 100 clients that ask and never take an answer: writes go on,
# control requests are answered, memory stays below twice memory_limit.  For what comes of it in
# figures see tests/bench/run --only overload; here the bounds are wide, for any machine.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
SECONDS_OFFERED=8 MEMORY_LIMIT=512
load() { "$BUILD/client/load/edubba-load" "$@" --quiet --format json --records 50k; }
metric() { curl -s "http://127.0.0.1:$((PORT + 101))/metrics" | sed -nE "s/^$1 ([0-9]+)\$/\1/p"; }
# What the server holds is its anonymous memory, looked at all the while: the pages of LMDB's file that happen to be mapped are the page cache's,
# which takes them back when it likes, so that a peak of all less what is mapped at the end says nothing.
watch_memory() {
    local key kib
    while [[ -r /proc/$1/status ]]; do
        while read -r key kib _; do [[ $key == RssAnon: ]] && echo $((kib / 1024)); done <"/proc/$1/status"
        sleep 0.05
    done >"$WORK/memory" 2>/dev/null
}
field() { sed -nE "s/.*\"$1\":([0-9.]+).*/\1/p"; }

start_master || exit 1
start_server 1 "memory_limit=$MEMORY_LIMIT MiB" || exit 1
for _ in $(seq 600); do ebt --json servers 2>/dev/null | grep -q '"alive": *true' && break; sleep 0.05; done
load write --batch 100 --distribution sequential --operations 50k >"$WORK/fill.json" || bad "filling: $(<"$WORK/fill.json")"

server=tcp://127.0.0.1:$((PORT + 1))
machine_watch
"$BUILD/tests/bench/never_read" "$server" 100 50000 >"$WORK/never_read.log" 2>&1 &
PIDS[never_read]=$!
for _ in $(seq 600); do grep -q ready "$WORK/never_read.log" && break; sleep 0.1; done
same "clients that never read have connected" "$(head -n 1 "$WORK/never_read.log")" ready
"$BUILD/tests/bench/control_probe" "$WORK/probe.json" $SECONDS_OFFERED "$server" "$EDUBBA_MASTERS" >"$WORK/probe.log" 2>&1 &
probe=$!
watch_memory "$(pid_of server1)" &
PIDS[watch]=$!
load write --rate 1000000 --late-max 1 --timeout 5 --duration $SECONDS_OFFERED >"$WORK/offered.json" 2>&1

rows=$(field rows <"$WORK/offered.json")
wait $probe || bad "control requests: $(<"$WORK/probe.log")"
p99_ms=$(($(field p99_us <"$WORK/probe.json" | cut -d. -f1) / 1000))
memory=$(sort -n "$WORK/memory" | tail -n 1)
looks=$(wc -l <"$WORK/memory")
echo "$rows rows were written; memory $memory MiB at most; control p99 $p99_ms ms"
if ((rows > 2000)); then ok; else bad "$rows rows were written: $(<"$WORK/offered.json")"; fi
if ((looks > SECONDS_OFFERED && memory < 2 * MEMORY_LIMIT)); then ok; else bad "the server held $memory MiB ($looks looks)"; fi
at_most "control requests, by the 99th of a hundred" "$p99_ms" 2999

# The clients are still there and still take nothing: for all others it is as if they were not.
for _ in $(seq 3000); do (($(metric edubba_request_bytes) < 16 << 20)) && break; sleep 0.1; done
if (($(metric edubba_request_bytes) < 16 << 20)); then ok; else bad "$(metric edubba_request_bytes) bytes of requests are still under way"; fi
if load run read --verify --duration 1 >"$WORK/read.json" 2>&1; then ok; else bad "reading: $(<"$WORK/read.json")"; fi
stop_soft never_read
for _ in $(seq 3000); do (($(metric edubba_answer_bytes) == 0)) && break; sleep 0.1; done
same "what they left lying goes with them" "$(metric edubba_answer_bytes)" 0
if stop_soft server1; then ok; else bad "the server does not end well"; fi
finish

#!/usr/bin/env bash
# Every limit of the data model: what is at it is taken, what is over it is refused by name, by the
# client library and by the server itself, and costs neither data nor the server's memory.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
start_master || exit 1
start_server 1 "memory_limit=512 MiB" "memtable_limit=128 MiB" || exit 1
for _ in $(seq 600); do ebt --json servers 2>/dev/null | grep -q '"alive": *true' && break; sleep 0.05; done
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

# --- answers that nobody takes: 25 connections, 4 times 50 MiB asked for on each --------------------------------
stop_soft server1
start_server 1 "memory_limit=256 MiB" "memtable_limit=64 MiB" "answer_bytes_max=128 MiB" "answer_stall=4 s" || exit 1
answer_mib() { echo $(($(curl -s "http://127.0.0.1:$((PORT + 101))/metrics" | sed -nE 's/^edubba_answer_bytes ([0-9]+)$/\1/p') / 1048576)); }
mkfifo "$WORK/hold"
"$BUILD/tests/cluster/limits_hoard" "$EDUBBA_MASTERS" T 25 <"$WORK/hold" >"$WORK/hoard.log" 2>&1 & hoarder=$!
exec 9>"$WORK/hold"
for _ in $(seq 600); do [[ -s $WORK/hoard.log ]] && break; sleep 0.1; done
same "the hoarder holds" "$(<"$WORK/hoard.log")" holding
for _ in $(seq 600); do (($(answer_mib) > 128)) && break; sleep 0.1; done
sleep 1.5
echo "$(answer_mib) MiB of answers wait; the server's memory was $(memory_mib) MiB at most"
if (($(answer_mib) > 128 && $(answer_mib) < 400)); then ok; else bad "$(answer_mib) MiB of answers wait"; fi
if (($(memory_mib) < 1024)); then ok; else bad "the server held $(memory_mib) MiB"; fi
machine_watch
begun=$SECONDS
same "others are served meanwhile" "$(ebt --json --timeout 60 lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'
at_most "which takes" $((SECONDS - begun)) 10 s
same "the large row is there for others in the end" "$(ebt --timeout 120 count T)" 2
at_most "both together" $((SECONDS - begun)) 50 s
exec 9>&-
wait $hoarder
for _ in $(seq 600); do (($(answer_mib) == 0)) && break; sleep 0.1; done
same "what it held goes with it" "$(answer_mib)" 0
finish

#!/usr/bin/env bash
# machine.sh tells somebody else's use of the processors from ours, and a time over its limit is a failure unless that is why.
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
# burn TICKS: until it has used so much itself, however long the machine takes over it.
burn() {
    local stat
    while :; do
        stat=$(<"/proc/$BASHPID/stat")
        # shellcheck disable=SC2086  # words
        set -- "$1" ${stat##*) }
        ((${13} + ${14} < $1)) || return
        for _ in {1..1000}; do :; done
    done
}
ours() { machine_ticks | cut -d ' ' -f 3; }
# verdict GOT LIMIT: of at_most
verdict() { (PASSED=0 FAILED=0 SKIPPED=0; at_most "it" "$1" "$2" >"$WORK/said"; echo "$PASSED $FAILED $SKIPPED"); }

before=$(ours)
burn 60 & PIDS[mine]=$!
while kill -0 "${PIDS[mine]}" 2>/dev/null && (($(ours) - before < 40)); do sleep 0.1; done
same "what is in PIDS is ours while it runs" "$(($(ours) - before >= 40))" 1
wait "${PIDS[mine]}"
unset 'PIDS[mine]'
same "and when it was waited for" "$(($(ours) - before >= 60))" 1

machine_watch
(for _ in $(seq "$(nproc)"); do setsid timeout 3 bash -c 'while :; do :; done' & done) # neither in PIDS nor waited for
sleep 3
same "what is neither is somebody else's" "$(machine_was_elsewhere && echo elsewhere)" elsewhere
same "a time below its limit is good all the same" "$(verdict 5 5)" "1 0 0"
same "one above it is neither good nor bad" "$(verdict 6 5)" "0 0 1"
says "and told" 0 '^skipped: it: 6 ms, more than 5, and says nothing: others had [0-9]+ %' cat "$WORK/said"

MACHINE_OTHERS_PERCENT=1000 MACHINE_STILL_MS=1000000 MACHINE_SYNC_MS=1000000
same "with the machine to itself it is bad" "$(verdict 6 5)" "0 1 0"

# A disk that stands still.
kill_hard pulse
kill_hard syncs
MACHINE_SYNC_MS=1000
real_sync=$(declare -f machine_sync)
machine_sync() { sleep 1.2; }
machine_watch
await "that the disk stood still is seen" 60 machine_was_elsewhere
says "and told" 0 'a sync took 1[0-9]{3} ms' echo "$MACHINE_WHY"
same "as long as it was" "$(($(machine_still_ms) >= 1200))" 1
eval "$real_sync"

MACHINE_STILL_MS=500 MACHINE_SYNC_MS=1000000
kill_hard pulse
kill_hard syncs
mkfifo "$WORK/pipe"
timeout 60 cat "$WORK/pipe" & reader=$!
exec 9>"$WORK/pipe"
machine_watch
exec 9>&-
wait $reader
same "what the test closes is closed" $? 0
kill -STOP "$(pid_of pulse)"
sleep 1
kill -CONT "$(pid_of pulse)"
await "that all stood still is seen" 60 machine_was_elsewhere

# And by who watches once more: of two times that all stood still the longer one, which came first.
# still_for SECONDS: until it is noted
still_for() {
    local before
    before=$(wc -l <"$WORK/pulse")
    kill -STOP "$(pid_of pulse)"
    sleep "$1"
    kill -CONT "$(pid_of pulse)"
    await "that all stood still for $1 s is noted" 60 eval "((\$(wc -l <'$WORK/pulse') > $before))"
}
machine_watch
still_for 1
still_for 0.4
same "the longest counts, the first of them, too" "$(machine_was_elsewhere && echo elsewhere)" elsewhere
finish

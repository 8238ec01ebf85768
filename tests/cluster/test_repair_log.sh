#!/usr/bin/env bash
# A log is damaged in what a flush was in the middle of, and nobody else has the tablet: the server refuses it, and
# says what cuts it.  What is written behind the cut stays, whatever becomes of the server.  Then the whole log is
# away: the server refuses to begin another one, until it is there again, or given up.
#
#   test_repair_log.sh [BUILD]
[[ ${1:-} != "" ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

ROWS=2000
LOG=$WORK/server1/store/log
load() { "$BUILD/client/load/edubba-load" --quiet "$@"; }
rows() { load "$@" --table W --records $ROWS --operations $ROWS --distribution sequential --keys ordered --value-size "$SIZE"; }
start() { start_server 1 memtable_limit="4 MiB" log_segment="1 MiB" flush_transaction="64 KiB" flush_pace=5 ballast=0 "replicate=$REPLICATE"; }
is_flushing() {
    curl -s "http://127.0.0.1:$((PORT + 101))/status" | python3 -c '
import json, sys
store = json.load(sys.stdin)["stores"][0]
sys.exit(not (store["flushes_pending"] > 0 and store["base_used_bytes"] > 800000))'
}
# Four bytes, 300 000 behind where replay begins (docs/storage-format.md).
damage() {
    python3 - "$LOG" <<'PY'
import pathlib, struct, sys
log = pathlib.Path(sys.argv[1])
slots = [(log / "anchor.log").read_bytes()[i:i + 4096] for i in (0, 4096)]
anchor = max(slots, key=lambda slot: struct.unpack_from("<Q", slot, 24))
segment, position = struct.unpack_from("<QQ", anchor, 32)
target = position + 300000
while True:
    path = log / f"segment-{segment:016d}.log"
    first = struct.unpack_from("<Q", path.read_bytes(), 32)[0]
    if target - first < path.stat().st_size - 4096:
        break
    segment += 1
with path.open("r+b") as file:
    file.seek(4096 + target - first)
    there = file.read(4)
    file.seek(4096 + target - first)
    file.write(bytes(byte ^ 255 for byte in there))
PY
}

# It is started in vain, and says so; gives what it says of the position.
refused() {
    LAUNCH_ONLY=1 start
    wait "${PIDS[server1]}"; same "$1: it is refused" $? 1; unset "PIDS[server1]"
    position=$(tail -n 3 "$WORK/server1.log" | grep -oE 'edubba-repair-log --synced [0-9]+' | tail -n 1 | grep -oE '[0-9]+$')
    [[ -n $position ]] && ok || { bad "$1: it does not say what to do: $(tail -n 3 "$WORK/server1.log")"; finish; }
}
repair() { "$BUILD/tabletserver/edubba-repair-log" --synced "$position" "$LOG"; }

start_master "tablet.soft_limit_start=512 MiB" || exit 1
for REPLICATE in false true; do
    SIZE=1000
    start || exit 1
    load load write --table W --records 60000 --operations 60000 --distribution sequential --keys ordered >/dev/null 2>&1 &
    writer=$!
    for _ in $(seq 600); do is_flushing && break; sleep 0.02; done
    is_flushing && ok || bad "$REPLICATE: no flush is under way"
    kill_hard server1
    kill "$writer" 2>/dev/null; wait "$writer" 2>/dev/null
    damage
    refused "$REPLICATE"
    says "$REPLICATE: it is cut" 0 'what was acknowledged between and not yet flushed is lost' repair
    SIZE=77
    for life in 1 2 3; do
        start || exit 1
        [[ $life == 1 ]] || says "$REPLICATE: life $life has what was written in the one before" 0 'all right' rows run read --verify
        says "$REPLICATE: life $life takes writes" 0 "operations  $ROWS" rows run write
        says "$REPLICATE: and has them" 0 'all right' rows run read --verify
        kill_hard server1
    done
    start || exit 1
    for _ in $(seq 1200); do [[ -e $WORK/server1/store/RELEARN ]] || break; sleep 0.05; done
    [[ ! -e $WORK/server1/store/RELEARN ]] && ok || bad "$REPLICATE: its note stays"
    says "$REPLICATE: the table goes" 0 '' ebt deletetable W
    stop_soft server1
    rm -rf "$WORK/server1"
done

REPLICATE=false
start || exit 1
says 'the log away: rows' 0 "operations  $ROWS" rows load write
kill_hard server1
mv "$LOG" "$WORK/log.away"
refused 'the log away'
tail -n 3 "$WORK/server1.log" | grep -q 'is that mounted' && ok || bad "the log away: it does not say what it may be"
rm -rf "$LOG"; mv "$WORK/log.away" "$LOG"
start || exit 1
says 'the log is back: nothing is lost' 0 'all right' rows run read --verify
kill_hard server1
rm -rf "$LOG"
refused 'the log lost'
says 'the log lost: it is given up' 0 'The log now ends at position' repair
start || exit 1
says 'the log given up: what is written stays' 0 "operations  $ROWS" rows run write
kill_hard server1
start || exit 1
says 'after another kill' 0 'all right' rows run read --verify
finish

#!/usr/bin/env bash
# Planned hand-overs under load: two copies of each of 12 tablets on three servers, one add at a time to a row of each.
# A server is drained, so that those that it leads are handed over, and taken back.  Nobody serves a tablet for less than
# 50 ms, by the median of those that were handed over, as the servers' logs tell; nothing fails, nothing is lost or
# doubled, and each read shows what was acknowledged before it.  Printed besides: the longest time between two
# acknowledgements that a client saw meanwhile, disks' syncs and all, and the longest that a read took.
#
#   test_hand_over.sh [BUILD] [--rounds N]     drains (2)
rounds=2
[[ ${1:-} != "" && ${1:-} != --* ]] && { BUILD=$(cd "$1" && pwd); shift; }
[[ ${1:-} == --rounds ]] && rounds=$2
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"

GAP_MS=50
LETTERS=(b c d e f g h i j k l)
start_master "tablet.soft_limit_start=512 MiB" balance.enabled=false || exit 1
for n in 1 2 3; do start_server $n replicate=true || exit 1; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

whole() { [[ $(ebt tablets T | grep -c "^[0-9].* 2/2 ") == 12 ]]; }
until_whole() { await "all tablets have two copies" $WHOLE_SECONDS whole; }
# A row of each tablet that the server leads.
led_by() { ebt --json tablets T | python3 -c '
import json, sys
for line in sys.stdin:
    tablet = json.loads(line)
    if tablet["address"].endswith(":" + sys.argv[1]):
        print(tablet["start"] or "a")' "$((PORT + $1))"; }

# serving_gaps SERVER < logs of all: milliseconds from when it serves a tablet no more until another one does.
serving_gaps() { python3 -c '
import re, sys
from datetime import datetime
pattern = re.compile(r"(\S+) (\S+)Z INFO  replica tablet=(\d+) version=\d+ role=(\w+) serves=(\w+)")
stopped = {}
events = sorted((m.group(2), m.group(1), m.group(3), m.group(4), m.group(5)) for m in map(pattern.match, sys.stdin) if m)
for at, server, tablet, role, serves in events:
    if role != "primary":
        continue
    if server == sys.argv[1]:
        stopped[tablet] = at if serves == "no" else None
    elif serves == "yes" and stopped.get(tablet):
        gap = datetime.fromisoformat(at) - datetime.fromisoformat(stopped.pop(tablet))
        print(round(gap.total_seconds() * 1000))' "server$1"; }
mark_logs() { for n in 1 2 3; do wc -l <"$WORK/server$n.log" >"$WORK/mark$n"; done; }
# How many tablets of T the server served at the mark, as its log tells: `ebt tablets` may know of a hand-over, that of a
# new table being spread, only after the mark.
served_at_mark() {
    head -n "$(cat "$WORK/mark$1")" "$WORK/server$1.log" |
        sed -nE 's/.* INFO +replica tablet=([0-9]+) .*role=([a-z]+) serves=([a-z]+).*/\1 \2\3/p' |
        awk '{ last[$1] = $2 } END { for (tablet in last) if (last[tablet] == "primaryyes") print tablet }' |
        grep -cxFf <(ebt --json tablets T | sed -nE 's/.*"tablet":"([0-9]+)".*/\1/p'); }
new_logs() { for n in 1 2 3; do tail -n "+$(($(cat "$WORK/mark$n") + 1))" "$WORK/server$n.log" | sed "s/^/server$n /"; done; }

says "a table" 0 '' ebt createtable T families=n::intsum "splits=$(IFS=,; echo "${LETTERS[*]}")" replicas=2 min-in-sync=1
until_whole
gaps=()
machine_watch
for ((round = 1; round <= rounds; round++)); do
    drained=$(((round - 1) % 3 + 1))
    "$BUILD/tests/cluster/gap_client" T n a "${LETTERS[@]}" >"$WORK/gaps" & client=$!
    PIDS[client]=$client
    await "all rows are written to" 310 grep -q ready "$WORK/gaps"
    mark_logs
    led_by $drained >"$WORK/led" # after that: a new table's tablets are spread until a moment ago
    says "drain server $drained" 0 'is drained' ebt --timeout 300 drain "127.0.0.1:$((PORT + drained))"
    sleep 0.5
    kill -TERM $client
    if wait $client; then ok; else bad "the client: $(grep FAILED "$WORK/gaps")"; fi
    unset 'PIDS[client]'
    mapfile -t these < <(new_logs | serving_gaps $drained)
    gaps+=("${these[@]}")
    seen=$(grep -Ff <(sed 's/$/ gap_ms/' "$WORK/led") "$WORK/gaps" | sed -nE 's/.*gap_ms=([0-9.]+).*/\1/p' | tr '\n' ' ')
    rest=$(grep -vFf <(sed 's/$/ gap_ms/' "$WORK/led") "$WORK/gaps" | sed -nE 's/.*gap_ms=([0-9.]+).*/\1/p' | sort -n | tail -n 1)
    reads=$(grep -Ff <(sed 's/$/ gap_ms/' "$WORK/led") "$WORK/gaps" | sed -nE 's/.*read_ms=([0-9.]+).*/\1/p' | tr '\n' ' ')
    echo "  server $drained led $(grep -c . "$WORK/led") tablets, served by nobody for ${these[*]:-?} ms; clients saw ${seen}ms, of the other tablets at most ${rest:-?} ms; reads took up to ${reads}ms"
    served=$(served_at_mark $drained) # more are handed over, where it came to lead one meanwhile
    same "each that it served was handed over: $served, ${#these[@]} were" "$((${#these[@]} >= served))" 1
    same "it served about a third" "$((served >= 2))" 1
    says "take server $drained back" 0 'takes replicas again' ebt drain "127.0.0.1:$((PORT + drained))" --undo
    # A new table is spread again.
    ebt deletetable T >/dev/null && ebt createtable T families=n::intsum "splits=$(IFS=,; echo "${LETTERS[*]}")" replicas=2 min-in-sync=1 >/dev/null || bad "a new table"
    until_whole
done
median=$(printf '%s\n' "${gaps[@]}" | sort -n | sed -n "$(((${#gaps[@]} + 1) / 2))p")
echo "  ${#gaps[@]} hand-overs: nobody served for ${median:-?} ms by the median, at most $(printf '%s\n' "${gaps[@]}" | sort -n | tail -n 1) ms"
same "tablets were handed over, with each drain some" "$((${#gaps[@]} >= rounds))" 1
at_most "nobody serves, by the median" "${median:-999999}" $((GAP_MS - 1))
finish

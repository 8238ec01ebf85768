#!/usr/bin/env bash
# Many tablets at once: 1 000 of them with three copies on three servers, rows in all of them, and one server dies.
# Told is how long it takes from kill -9 until every tablet is served by another and no configuration names the
# dead one; that every row is there and can be written; and the same until all have three copies again.
#
#   test_many_tablets.sh [BUILD] [--tablets N] [--at-most MILLISECONDS]
#     --at-most   until all are served and changed (5 000; docs/performance-time.md has what it took)
tablets=1000 took_ms_max=5000
[[ ${1:-} != "" && ${1:-} != --* ]] && { BUILD=$(cd "$1" && pwd); shift; }
while (($# > 0)); do
    case $1 in
        --tablets) tablets=$2; shift 2 ;;
        --at-most) took_ms_max=$2; shift 2 ;;
        *) sed -n '2,9s/^# \?//p' "$0"; exit 2 ;;
    esac
done
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"

now_ms() { echo $(($(date +%s%N) / 1000000)); }
start_master replication.replicas=3 replication.min_in_sync=2 "tablet.soft_limit_start=512 MiB" || exit 1
for n in 1 2 3; do start_server $n replicate=true "memory_limit=256 MiB" || exit 1; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

# state [SERVER]: how many tablets are served, have three copies in sync, and name SERVER's address as a member's.
state() {
    ebt --json --timeout 60 tablets many 2>/dev/null | python3 -c '
import json, sys
served = whole = named = 0
for line in sys.stdin:
    tablet = json.loads(line)
    members = [r for r in tablet["replicas"] if r["role"] != "learner"]
    served += tablet["state"] == "serving"
    whole += sum(r.get("in_sync", False) for r in members) == 3
    named += any(r["address"] == sys.argv[1] for r in members)
print(served, whole, named)' "${1:-}"
}
# until_state WHAT SECONDS PATTERN [SERVER]: it comes to that; sets TOOK_MS, from BEGUN_MS.
until_state() {
    local seen=''
    while (($(now_ms) - BEGUN_MS < $2 * 1000)); do
        seen=$(state "${4:-}")
        TOOK_MS=$(($(now_ms) - BEGUN_MS))
        [[ $seen =~ ^$3$ ]] && { ok; return; }
        sleep 0.05
    done
    bad "$1: after $2 s (served, whole, named) are $seen of $tablets"
}
# rows COLUMN: write one to each tablet, and read all.
keys() { seq -f '%06.0f' 1 "$tablets"; }

splits=$(keys | tail -n +2 | paste -sd,)
BEGUN_MS=$(now_ms)
ebt --timeout 300 createtable many families=f splits="$splits" >/dev/null || { bad createtable; finish; }
until_state "all are served, with three copies" 300 "$tablets $tablets 0"
echo "  made: $TOOK_MS ms"
{ echo ,f; echo ,q; keys | sed 's/$/,before/'; } >"$WORK/rows.csv"
ebt --timeout 300 import many "$WORK/rows.csv" >/dev/null || bad "rows are written"

dead=tcp://127.0.0.1:$((PORT + 1))
machine_watch
BEGUN_MS=$(now_ms)
kill_hard server1
until_state "every tablet is served by another" 300 "$tablets [0-9]+ 0" "$dead"
echo "  one of three servers died: all $tablets tablets served, all configurations changed: $TOOK_MS ms"
at_most "that took" $TOOK_MS $took_ms_max
sed -i 's/,before/,after/' "$WORK/rows.csv"
ebt --timeout 300 import many "$WORK/rows.csv" >/dev/null || bad "rows are written after it"
same "every row is there" "$(ebt count many)" "$tablets"
same "as it was written last" "$(ebt --json read many cells-per-column=1 | grep -c '"after"')" "$tablets"

BEGUN_MS=$(now_ms)
start_server 1 replicate=true "memory_limit=256 MiB" || exit 1
until_state "all have three copies again" 300 "$tablets $tablets $tablets" "$dead"
echo "  it came back: all have three copies again: $TOOK_MS ms"
finish

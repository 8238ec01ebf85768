#!/usr/bin/env bash
# What heals by itself, and what a person has to accept, on real processes: a server whose data.mdb or log has decayed
# is taught anew; and of a tablet whose members are lost for good, what another copy had is served again.
#
#   test_recover.sh [BUILD]
[[ ${1:-} != "" ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

# Small memtables, so that rows are in data.mdb soon; and a scrub that goes round all the time.
start() { start_server "$1" replicate=true "memtable_limit=64 KiB" "memory_limit=16 MiB" "log_limit=1 MiB" "log_segment=1 MiB" "ballast=0" "scrub_rate=1 GiB" "compare_period=5 s" || exit 1; }
start_master "tablet.soft_limit_start=512 MiB" "replication.replace_after=3 s" || exit 1
for n in 1 2 3; do start $n; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

# until_says WHAT PATTERN COMMAND...: it comes to that within a minute.
until_says() {
    local what=$1 pattern=$2
    shift 2
    for _ in $(seq 600); do "$@" 2>/dev/null | grep -qE -- "$pattern" && { ok; return; }; sleep 0.2; done
    bad "$what: still not $pattern:"; "$@" 2>&1 | head -n 12
}
# Is the only tablet whole: so many in sync, of as many?
whole() { [[ $(ebt tablets "$1" | grep -c "^[0-9].* $2/$2 ") == 1 ]] && echo whole; }
primary() { local at; at=$(ebt tablets "$1" | sed -n 2p | tr -s ' ' | cut -d' ' -f3); echo $((${at##*:} - PORT)); }
address() { echo "tcp://127.0.0.1:$((PORT + $1))"; }
# members TABLE: servers that count.
members() { ebt tablets "$1" | grep -cE ' (primary|secondary)'; }

says "a table with three copies" 0 '' ebt createtable load families=plain replicas=3 min-in-sync=2
until_says "all are in sync" whole whole load 3
says "nothing is lost" 0 'no tablet is lost' ebt recover

# --- a file that decays ---------------------------------------------------------------------------
{ printf ',plain\n,x\n'; seq 6000 | awk '{printf "r%05d,needle-%05d-%0300d\n", $1, $1, 0}'; } >"$WORK/rows.csv"
says "rows" 0 '' ebt import load "$WORK/rows.csv"
sick=$((1 + $(primary load) % 3))
file=$(find "$WORK/server$sick" -name data.mdb | head -n 1)
until_says "they are in data.mdb" needle-00007 grep -a -m 1 -o needle-00007 "$file"
python3 - "$file" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    at = data.find(b"needle-00007")
    while at >= 0:
        file.seek(at)
        file.write(b"N")
        at = data.find(b"needle-00007", at + 1)
PYTHON
until_says "its server notices" '^edubba_bad_chunks_total [1-9]' curl -s "http://127.0.0.1:$((PORT + 100 + sick))/metrics"
until_says "is taught anew" 'role=learner' cat "$WORK/server$sick.log"
until_says "and whole" whole whole load 3
sleep 1
until_says "still" whole whole load 3
until_says "the right bytes are back" needle-00007 grep -a -m 1 -o needle-00007 "$file"
none "and nobody else was touched" "$(grep -l copies_differ "$WORK"/server*.log)"

# --- a log that decays --------------------------------------------------------------------------------
says "a row for the log" 0 '' ebt set load marked-in-the-log plain:x=1
for i in $(seq 20); do ebt set load "behind-$i" plain:x=1; done
kill_hard "server$sick"
python3 - "$WORK/server$sick" <<'PYTHON'
import pathlib, sys
found = 0
for path in pathlib.Path(sys.argv[1]).glob("**/log/*"):
    with open(path, "r+b") as file:
        at = file.read().find(b"marked-in-the-log")
        if at >= 0:
            file.seek(at)
            file.write(b"M")
            found += 1
sys.exit(0 if found == 1 else f"found in {found} files of the log")
PYTHON
same "a byte of its log is another one" "$?" 0
before=$(grep -c role=learner "$WORK/server$sick.log")
start "$sick"
taught_since() { (($(grep -c role=learner "$WORK/server$sick.log") > $1)) && echo taught; }
until_says "taught anew" taught taught_since "$before"
until_says "whole again" whole whole load 3
none "and nothing is left of it" "$(find "$WORK/server$sick" -name RELEARN)"
says "all rows are there" 0 '^6021$' ebt --timeout 60 count load

# --- members that are lost for good -----------------------------------------------------------------
says "before" 0 '' ebt set load before plain:x=1
left=$sick
kill_hard "server$left"
for _ in $(seq 600); do [[ $(members load) == 2 ]] && break; sleep 0.1; done
says "two are enough" 0 '' ebt --timeout 60 set load after plain:x=1
for n in 1 2 3; do [[ $n == "$left" ]] || { kill_hard "server$n"; rm -rf "$WORK/server$n"; }; done
start "$left"
until_says "the tablet is lost" 'nobody has led it' ebt recover
until_says "the copy that is left is named" "$(address "$left").*does not count, whole" ebt recover load
kill_hard "server$left"
start "$left"
until_says "after a restart, too" "$(address "$left").*does not count, whole" ebt recover load
until_says "so is what is missing" 'member, (not heard of|its server is gone)' ebt recover
says "nothing is made of it" 1 'UNAVAILABLE|DEADLINE' ebt --timeout 2 lookup load before
says "what is meant must be said" 2 'of which TABLET or TABLE' ebt recover --accept-data-loss
says "a tablet that is none" 1 'NOT_FOUND' ebt recover 4711 --accept-data-loss
tablet=$(ebt --json recover | grep -o '"tablet":"[0-9]*"' | tr -dc 0-9)
says "a store that has none" 1 'no server has told of a copy' ebt recover "$tablet" --accept-data-loss --store=5
says_again "it is accepted" 0 "tablet $tablet is what store [0-9]+ has of it" ebt recover load --accept-data-loss
until_says "what the copy had is served" '"1"' ebt --timeout 5 lookup load before
same "all of it" "$(ebt --timeout 60 count load)" 6022
same "what it had not is gone" "$(ebt lookup load after 2>/dev/null | grep -c '"1"')" 0
for n in 1 2 3; do [[ $n == "$left" ]] || start $n; done
until_says "new servers are taught" whole whole load 3
says "it is written to" 0 '' ebt --timeout 60 set load again plain:x=1
says "nothing is lost any more" 0 'no tablet is lost' ebt recover
says "who said so is kept" 0 'recovered before, [0-9]+ s ago, by .+ at ' ebt recover "$tablet"
same "and logged" "$(grep -c tablet_recovered "$WORK/master.log")" 1
says "what is not lost is refused" 1 'FAILED_PRECONDITION.*nothing is lost' ebt recover "$tablet" --accept-data-loss
finish

#!/usr/bin/env bash
# The machine's clock is set by an hour, back by an hour, ahead by 100 days, for some seconds each,
# while rows are written: none is refused, none is lost, none is erased by a rule on age; and a
# server that is killed and started while its clock is wrong loses nothing either.  Nor does a
# master's clock matter to who writes.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
ROWS=40
CLOCK=$WORK/clock
HOUR=3600 DAY=86400

metric() { curl -s "http://127.0.0.1:$((PORT + 101))/metrics" | sed -nE "s/^$1 (-?[0-9]+)\$/\1/p"; }
set_clock() { echo "$1" >"$CLOCK.new" && mv "$CLOCK.new" "$CLOCK"; }
start_wrong() { EDUBBA_TEST_CLOCK=$CLOCK LD_PRELOAD=$BUILD/tests/cluster/set_clock.so start_server 1 "gc_interval=1 s"; }
join() { for _ in $(seq 1200); do ebt --json servers 2>/dev/null | grep -q '"alive": *true' && return; sleep 0.05; done; bad "the server has not joined"; }
put() { says "a write $1" 0 '^$' ebt set aging "$2" "month:q=$2" "hours:q=$2"; }
# Of the same rows each of the two families has a cell: what a read shows is what a rule has left.
cells() { ebt read aging 2>/dev/null | grep -cE '(month|hours):q'; }
# hold WHAT SECONDS DOUBTED: so it stays for a while, and is written to by new clients.  A busy machine may need longer
# to notice.
hold() {
    local what=$1 seconds=$2 doubted=$3 n
    for ((n = 0; n < seconds; n++)); do
        sleep 1
        put "$what" "row$((++written))"
    done
    for ((n = 0; n < 600; n++)); do [[ $(metric edubba_clock_doubted) == "$doubted" ]] && break; sleep 0.1; done
    same "clock_doubted $what" "$(metric edubba_clock_doubted)" "$doubted"
}

set_clock 0
start_master || exit 1
start_wrong || exit 1
join
says "a table" 0 '^$' ebt createtable aging families=month:maxage=30d,hours:maxage=2h
written=0
while ((written < ROWS)); do put "at first" "row$((++written))"; done
# A stop flushes: from now on they are where erasing happens.
if stop_soft server1; then ok; else bad "the server does not end well"; fi
start_wrong || exit 1
join
"$BUILD/client/load/edubba-load" write --rate 300 --records 1k --duration 32 --timeout 60 --quiet --format json >"$WORK/load.json" 2>&1 &
PIDS[load]=$!
hold "before any step" 2 0
set_clock $HOUR; hold "an hour ahead" 4 1
set_clock 0; hold "set right" 3 0
set_clock -$HOUR; hold "an hour behind" 4 1
set_clock 0; hold "set right again" 3 0
set_clock $((100 * DAY)); hold "100 days ahead" 8 1
set_clock 0; hold "set right for good" 3 0
wait "${PIDS[load]}"; status=$?
unset "PIDS[load]"
same "a client that was there all the while" "$status $(sed -nE 's/.*"errors":([0-9]+).*/\1/p' "$WORK/load.json")" "0 0"
same "cells of all rows" "$(cells)" $((2 * written))
if grep -q clock_leapt "$WORK/server1.log"; then ok; else bad "the log says nothing of it"; fi

# Killed, and started with a clock that is wrong: the master's is all that it has to know that by.
set_clock $((100 * DAY))
kill_hard server1
start_wrong || exit 1
join
hold "wrong at a start" 3 1
set_clock 0
hold "set right after a start" 2 0
kill_hard server1
start_wrong || exit 1
join
hold "started with the right clock" 3 0
same "cells of all rows, after starts" "$(cells)" $((2 * written))

# The master's clock alone is wrong: new clients hear of it first, and no write of theirs is judged by it.
master_wrong() {
    set_clock "$1"
    stop_soft master || bad "the master does not end well"
    EDUBBA_TEST_CLOCK=$CLOCK LD_PRELOAD=$BUILD/tests/cluster/set_clock.so start_master || exit 1
    join
    for _ in 1 2 3; do put "of a new client, $2" "row$((++written))"; done
}
stop_soft server1 || bad "the server does not end well"
start_server 1 || exit 1
master_wrong $HOUR "the master an hour ahead"
master_wrong -$HOUR "the master an hour behind"
if stop_soft server1; then ok; else bad "the server does not end well"; fi
finish

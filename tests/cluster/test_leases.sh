#!/usr/bin/env bash
# Leases under full load: three servers, three copies of 12 tablets, writes that are synced before each answer
# and sums, 64 each in flight, and no fault.  No lease runs out, nobody is refused or waits in vain, no tablet
# changes its primary, and sums and values are what they should be.
#
#   test_leases.sh [BUILD] [--seconds N]     (10)
seconds=10
[[ ${1:-} != "" && ${1:-} != --* ]] && { BUILD=$(cd "$1" && pwd); shift; }
[[ ${1:-} == --seconds ]] && seconds=$2
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"

SERVERS=3 TABLETS=12
settings=(replicate=true "memory_limit=192 MiB" "log_limit=512 MiB")
start_master replication.replicas=$SERVERS replication.min_in_sync=2 "tablet.soft_limit_start=512 MiB" || exit 1
for ((n = 1; n <= SERVERS; n++)); do start_server $n "${settings[@]}" || exit 1; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == "$SERVERS" ]] && break; sleep 0.05; done

load() { "$BUILD/client/load/edubba-load" --quiet "$@" --timeout 60 --fail-on-errors --verify; }
metric() { curl -s "http://127.0.0.1:$((PORT + 100 + $1))/metrics" | sed -nE "s/^$2 ([0-9]+)\$/\1/p"; }
lapsed() { for ((n = 1; n <= SERVERS; n++)); do metric $n edubba_leases_lapsed_total; done | total; }
# Who leads which tablet, under which version of its configuration.
reigns() { ebt tablets LOAD | awk '/^[0-9]/ { print $1, $3, $5 }'; }
changed() { comm -13 <(sort <<<"$before") <(reigns | sort) | wc -l; }
whole() { [[ $(ebt tablets LOAD | grep -c "^[0-9].* $SERVERS/$SERVERS ") == "$TABLETS" ]]; }

load load write --records 20000 --presplit $TABLETS >"$WORK/filled" || bad "filling: $(tail -n 5 "$WORK/filled")"
await "all tablets have $SERVERS copies" $WHOLE_SECONDS whole
# A machine that gives a server no processor for longer than a lease ends leases, and one whose disk gives it no sync has members
# removed: that shows nothing.  Then once more.
for attempt in 1 2 3; do
    machine_watch
    before=$(reigns) lapsed_before=$(lapsed)
    load run write --records 20000 --duration "$seconds" >"$WORK/written" 2>&1 & writes=$!
    load run add --records 1000 --duration "$seconds" >"$WORK/added" 2>&1 & adds=$!
    if wait $writes; then ok; else bad "writes: $(tail -n 12 "$WORK/written")"; fi
    if wait $adds; then ok; else bad "sums: $(tail -n 12 "$WORK/added")"; fi
    grep -hE '^ *(operations|errors|unknown)' "$WORK/written" "$WORK/added"
    lapses=$(($(lapsed) - lapsed_before)) changes=$(changed)
    ((FAILED == 0 && attempt < 3 && lapses + changes > 0)) || break
    echo "  $lapses leases lapsed, and $changes tablets changed, in attempt $attempt"
    await "all of them again" $WHOLE_SECONDS whole
done
same "each server tells how many leases lapsed" "$(metric 1 edubba_leases_lapsed_total | grep -c .)" 1
at_most "leases that lapsed in $seconds s of full load" $lapses 0 leases
at_most "tablets whose primary, or the version of their configuration, changed" "$changes" 0 tablets
((FAILED == 0)) || grep -h lease_lapsed "$WORK"/server?.log | tail -n 5

# That a lapse is counted: whoever is stopped for two leases finds his run out.
kill -STOP "$(pid_of server1)"
sleep 3
kill -CONT "$(pid_of server1)"
for _ in $(seq 600); do (($(metric 1 edubba_leases_lapsed_total) > 0)) && break; sleep 0.1; done
same "a server that was stopped counts what it has lost" "$(($(metric 1 edubba_leases_lapsed_total) > 0))" 1
finish

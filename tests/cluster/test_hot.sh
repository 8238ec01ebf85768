#!/usr/bin/env bash
# Load on one range of keys shows as the hot tablet: by ebt, and by ListHotTablets of the gateway.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
cluster_begin 2
load() { "$BUILD/client/load/edubba-load" --quiet "$@" >/dev/null 2>"$WORK/errors" || bad "load: $(cat "$WORK/errors")"; }
# member NAME: of the hottest tablet
member() { ebt --json hot-tablets "${@:2}" last=10m | head -n 1 | sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }

# --- nothing is hot -----------------------------------------------------------------------------
says "nothing is hot" 0 'no tablet took as much as 1 %' ebt hot-tablets
same "nor as JSON" "$(ebt --json hot-tablets)" ""
says "of the last minutes" 0 'in any minute of the last 2m$' ebt hot-tablets
says "of an hour" 0 'in any minute of the last 1h$' ebt hot-tablets last=1h
says "a table that is not there" 1 'NOT_FOUND' ebt --json hot-tablets NOWHERE
says "two tables" 2 "one TABLE and last=AGE, not 'b'" ebt hot-tablets a b
says "no time" 2 "'last=soon'" ebt hot-tablets last=soon
says "in the help" 0 'hottest minute' ebt help hot-tablets

# --- one range is -------------------------------------------------------------------------------
# Reads, as they make no tablet grow until it is split.
load load read --table T --records 4000 --presplit 4
for _ in $(seq 30); do
    load run read --table T --records 1000 --duration 1 # of 4 000: the first tablet's
    [[ "$(member start T)..$(member end T)" == ..0000000000001000 ]] && break
done
same "the hottest tablet's rows" "$(member start T)..$(member end T)" "..0000000000001000"
number=$(ebt --json tablets T | grep '"end":"0000000000001000"' | grep -oE '"tablet":"[0-9]+"' | tr -dc 0-9)
same "is the first tablet" "$(member tablet T)" "$number"
same "and its reads were counted" $(($(member reads T) > 1000)) 1
# larger NAME OTHER TABLE: has the hottest tablet more of the one?
larger() { awk -v a="$(member "$1" "$3")" -v b="$(member "$2" "$3")" 'BEGIN { print (a > b + 0) }'; }
same "they took the time" "$(larger read_cpu_percent write_cpu_percent T)" 1
says "as a table" 0 "^ *[0-9.]+% .* T \\[\"\", \"0000000000001000\"\\)" ebt hot-tablets T last=10m
ebt createtable OTHER families=f
same "not in another table" "$(ebt --json hot-tablets OTHER)" ""
says "which is named" 0 '^no tablet of OTHER took' ebt hot-tablets OTHER

# --- writes count apart -------------------------------------------------------------------------
for _ in $(seq 30); do
    load add --table ADDS --duration 1
    [[ $(member writes ADDS) -gt 1000 ]] && break
done
same "writes take the time of writes" "$(larger write_cpu_percent read_cpu_percent ADDS)" 1

# --- the gateway tells the same -----------------------------------------------------------------
if [[ -x $BUILD/gateway/edubba-gateway ]]; then
    start_gateway
    # hot CLUSTER [MORE]: every text in the answer, one a line; the status last.  MORE fields as printf takes them.
    hot() {
        printf "$(printf '\\x0a\\x%02x' ${#1})%s${2:-}" "$1" >"$WORK/message"
        "$ROOT/tests/gateway/ask.py" "$BIGTABLE_EMULATOR_HOST" google.bigtable.admin.v2.BigtableInstanceAdmin/ListHotTablets \
            <"$WORK/message" | python3 -c '
import re, sys
for line in sys.stdin:
    if line.startswith("status"):
        print(line.strip())
    else:
        print("\n".join(text.decode() for text in re.findall(rb"[ -~]{4,}", bytes.fromhex(line))))'
    }
    hot projects/edubba/instances/edubba/clusters/edubba-c1 >"$WORK/hot"
    same "it is answered" "$(tail -n 1 "$WORK/hot")" "status 0"
    says "the table" 0 'projects/edubba/instances/edubba/tables/T' cat "$WORK/hot"
    says "the name" 0 "projects/edubba/instances/edubba/clusters/edubba-c1/hotTablets/$number-[0-9]+" cat "$WORK/hot"
    says "the end of its rows" 0 '0000000000001000' cat "$WORK/hot"
    # A page at a time: 1 is page_size, then page_token.
    cluster=projects/edubba/instances/edubba/clusters/edubba-c1
    # (What the servers have counted still comes in for some seconds; who is the hottest may change between two pages.)
    for _ in $(seq 30); do
        hot $cluster '\x20\x01' >"$WORK/first"
        token=$(grep -oE '[0-9a-f]{80}' "$WORK/first")
        hot $cluster "\x20\x01\x2a\x50$token" >"$WORK/second"
        grep -q hotTablets "$WORK/second" && break
        sleep 1
    done
    same "a page of one" "$(grep -c hotTablets "$WORK/first")" 1
    same "and another behind it" "$(grep -c hotTablets "$WORK/second")" 1
    same "with another tablet" "$(grep -hoE 'hotTablets/[0-9]+-[0-9]+' "$WORK/first" "$WORK/second" | sort -u | wc -l)" 2
    same "no such page" "$(hot $cluster '\x2a\x01x' | cut -c1-8)" "status 3"
    same "a page of less than nothing" "$(hot $cluster '\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01' | cut -c1-8)" "status 3"
    same "another instance has none" "$(hot projects/p/instances/i/clusters/c | tail -n 1 | cut -c1-8)" "status 5"
fi

# --- the master forgets with its process ----------------------------------------------------------
kill_hard master && start_master
for _ in $(seq 200); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') -ge 2 ]] && break; sleep 0.05; done
same "a new master knows nothing of before" "$(ebt --json hot-tablets T last=1d)" ""
finish

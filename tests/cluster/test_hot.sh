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
none "nor as JSON" "$(ebt --json hot-tablets)"
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
    [[ "$(member start T)..$(member end T)" == ..0000000000001000 && $(member reads T) -gt 1000 ]] && break
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
none "not in another table" "$(ebt --json hot-tablets OTHER)"
says "which is named" 0 '^no tablet of OTHER took' ebt hot-tablets OTHER

# --- writes count apart -------------------------------------------------------------------------
# So many at a time: each waits for a sync, and on a slow disk a few would not take 1 % of a server's time.
add() { load add --table ADDS --records 1000 --in-flight 4096 --duration 1; }
for _ in $(seq 30); do
    add
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
    # What the servers have counted comes in for some seconds; and what was hot when its minute had just begun need not
    # be of the whole of it, where other programs want the processors.
    for _ in $(seq 60); do
        hot projects/edubba/instances/edubba/clusters/edubba-c1 >"$WORK/hot"
        grep -qa 'tables/T$' "$WORK/hot" && break
        load run read --table T --records 1000 --duration 1
    done
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
        load run read --table T --records 1000 --duration 1
        add
    done
    same "a page of one" "$(grep -c hotTablets "$WORK/first")" 1
    same "and another behind it" "$(grep -c hotTablets "$WORK/second")" 1
    same "with another tablet" "$(grep -hoE 'hotTablets/[0-9]+-[0-9]+' "$WORK/first" "$WORK/second" | sort -u | wc -l)" 2
    same "no such page" "$(hot $cluster '\x2a\x01x' | cut -c1-8)" "status 3"
    same "a page of less than nothing" "$(hot $cluster '\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01' | cut -c1-8)" "status 3"
    same "another instance has none" "$(hot projects/p/instances/i/clusters/c | tail -n 1 | cut -c1-8)" "status 5"
fi

# --- which rows it is, and what that says about the keys ------------------------------------------
says "no rows of a table that is not there" 1 'NOT_FOUND' ebt --json hot-keys NOWHERE
says "no advice either" 1 'NOT_FOUND' ebt --json advise NOWHERE
says "advice needs a table" 2 'TABLE' ebt advise
says "of an idle table" 0 '^no tablet of OTHER was busy' ebt hot-keys OTHER
says "nothing is said" 0 '^too_few: ' ebt advise OTHER
# kinds TABLE: what is found.  until_found TABLE KIND LOAD...: that load, again and again, until it is.
kinds() { ebt --json advise "$1" | sed -nE 's/.*"kind":"([a-z_]+)".*/\1/p' | tr '\n' ' '; }
until_found() {
    for _ in $(seq 20); do
        load "${@:3}" --table "$1" --duration 3
        [[ " $(kinds "$1") " == *" $2 "* ]] && break
    done
    same "$2 is found in $1" "$([[ " $(kinds "$1") " == *" $2 "* ]] && echo yes || kinds "$1")" yes
}
# field NAME TABLE: a number of the table's tablet that takes most
field() { ebt --json hot-keys "$2" | head -n 1 | sed -nE "s/.*\"$1\":([0-9.]+).*/\1/p"; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > b + 0) }'; }

load load read --table KEY --records 100
until_found KEY popular_key run read --records 1
popular=$(ebt --json hot-keys KEY | sed -nE 's/.*"keys":\[\{"row":"([^"]*)".*/\1/p')
same "the popular row is named" "$popular" "0000000000000000"
says "and in words" 0 "^popular_key: [0-9]+ % of the table's load hits one row, '0000000000000000'" ebt advise KEY
says "with a cure" 0 '^  cure, salting: ' ebt advise KEY
says "with its age" 0 '^\(as of [0-9]+ s ago, by [0-9]+ samples' ebt advise KEY
says "and where to read on" 0 '^`ebt advise KEY` says' ebt hot-keys KEY
says "and as a list" 0 '^  row +[0-9.]+% .*"0000000000000000"' ebt hot-keys KEY

# most_appended TABLE: of any of its tablets: which takes most is another in each report, as they are split
most_appended() { ebt --json hot-keys "$1" | sed -nE 's/.*"appended_percent":([0-9.]+).*/\1/p' | sort -n | tail -n 1; }
# (It begins with the first row each time: that would not be the end of a table that is there.)
for _ in $(seq 8); do
    load write --table TIME --records 100M --distribution sequential --duration 8
    found=$(kinds TIME) appended=$(most_appended TIME)
    [[ " $found " == *" monotonic "* && $(above "$appended" 60) == 1 ]] && break
    load drop --table TIME
done
same "monotonic is found in TIME" "$([[ " $found " == *" monotonic "* ]] && echo yes || echo "$found")" yes
same "its rows are appended" "$(above "$appended" 60)" 1
says "and in words" 0 '^monotonic: [0-9]+ % of writes hit one tablet; its rows only grow at the end' ebt advise TIME
says "with the keys as they are, and a cure that fits them" 0 "^  cure, salting: .*'HASH#NUMBER'" ebt advise TIME
same "of one writer, whatever tablets it has left behind" "$(above "$(ebt --json advise TIME | sed -nE 's/.*"kind":"monotonic","share_percent":([0-9.]+).*/\1/p' | head -n 1)" 80)" 1
same "writes took time, and waited for less" "$(above "$(field write_latency_us TIME)" "$(field write_wait_us TIME)")" 1

load load read --table EVEN --records 4000 --presplit 4
until_found EVEN balanced run read --records 4000
same "of an even load there are many points" "$(above "$(ebt --json hot-keys EVEN | head -n 1 | grep -o '"crossing"' | wc -l)" 15)" 1
same "and no popular row" "$(ebt --json hot-keys EVEN | grep -c '"keys":\[\]')" 4
same "nothing is appended" "$(above 10 "$(field appended_percent EVEN)")" 1

for path in heat load; do
    says "$path of a table that is not there" 0 "NOT_FOUND.*there is no table 'NOWHERE'" \
        curl -s "http://127.0.0.1:$((PORT + 100))/api/v1/$path?table=NOWHERE"
done

# --- docs/console.md names all that the API serves ------------------------------------------------
cat >"$WORK/fields.py" <<'END'
"""Fields that each path answers with, and that its section of the page does not name; and how many were seen."""
import json, re, sys, urllib.request

def fields(value):
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from fields(part)
    elif isinstance(value, list):
        for part in value:
            yield from fields(part)

base, page = sys.argv[1], open(sys.argv[2]).read()
paths = {"cluster": "", "load": "", "tablets": "?table=KEY", "events": "", "advice": "?table=KEY", "hot_tablets": "", "heat": "?table=KEY"}
seen = 0
for path, query in paths.items():
    section = re.search(r"^### `%s`\n(.*?)(?=^##|\Z)" % path, page, re.S | re.M)
    named = set(re.findall(r"`([a-z_]+)`", section.group(1))) if section else set()
    served = set(fields(json.load(urllib.request.urlopen(base + path + query))))
    seen += len(served)
    for name in sorted(served - named):
        print(path, name)
print("seen" if seen > 100 else seen)
# And those that no healthy cluster serves: as the sources write them.
named = set(re.findall(r"`([a-z_]+)`", page))
for source in sys.argv[3:]:
    for name in sorted(set(re.findall(r'\\"([a-z_]+)\\":', open(source).read())) - named):
        print(source, name)
END
same "docs/console.md names each field that is served" \
    "$(python3 "$WORK/fields.py" "http://127.0.0.1:$((PORT + 100))/api/v1/" "$ROOT/docs/console.md" \
        "$ROOT"/master/console/console_api*.c "$ROOT/master/core/catalog_look.c" "$ROOT/master/shell/master.c" 2>&1)" "seen"

# --- the master forgets with its process ----------------------------------------------------------
kill_hard master && start_master
for _ in $(seq 1200); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') -ge 2 ]] && break; sleep 0.05; done
none "a new master knows nothing of before" "$(ebt --json hot-tablets T last=1d)"
finish

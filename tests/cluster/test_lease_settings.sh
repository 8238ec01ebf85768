#!/usr/bin/env bash
# Servers with different leases: three servers, three copies of six tablets, one server with a longer lease than the
# others' grace.  It counts on them for as long as fits, and says so; all copies stay, and rows can be written to
# whoever leads.  Killed, and started with what the others have, it waits out the grace that it had, and then
# notes the shorter one.
[[ ${1:-} != "" ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

ROWS=(a b c d e f)
start_master "tablet.soft_limit_start=512 MiB" replication.replicas=3 replication.min_in_sync=2 || exit 1
for n in 1 2; do start_server $n replicate=true || exit 1; done
start_server 3 replicate=true "lease=4 s" "grace=6 s" || exit 1
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

whole() { [[ $(ebt tablets T | grep -c "^[0-9].* 3/3 ") == 6 ]]; }
until_whole() { await "all tablets have three copies" $WHOLE_SECONDS whole; }
versions() { ebt tablets T | awk '/^[0-9]/ { print $1, $5 }'; }
set_all() { local row; for row in "${ROWS[@]}"; do ebt --timeout 60 set T "$row" "n:x=$1" >/dev/null || bad "row $row cannot be set to $1"; done; }
get_all() { local row; for row in "${ROWS[@]}"; do ebt --timeout 60 read T "prefix=$row" | grep -c "\"$1\""; done | total; }
noted() { sed -n 's/^grace //p' "$WORK/server$1/GRACE" 2>/dev/null; }
shortened() { grep -hc ' lease_shortened .*lease_ms=1808 grace_ms=2000' "$WORK/server$1.log"; }

says "a table" 0 '' ebt createtable T families=n "splits=b,c,d,e,f"
until_whole
set_all 1
for _ in $(seq 600); do [[ $(shortened 3) == 2 ]] && break; sleep 0.1; done
same "it says of both others for how long it counts on them" "$(shortened 3)" 2
same "nobody else has anything to say" "$(grep -hc 'lease_shortened\|lease_not_given' "$WORK"/server[12].log | total)" 0
leads=$(ebt tablets T | grep -c "^[0-9].*:$((PORT + 3)) ")
same "it leads some, and serves them" "$((leads > 0))" 1
# Where the machine gives a server no processor for longer than a lease, or its disk none for a sync, members are removed and
# come back, and nothing is shown: then once more.
for _ in {1..8}; do
    before=$(versions)
    sleep 5
    whole && [[ $(versions) == "$before" ]] && break
    until_whole
done
same "and still has all copies" "$(ebt tablets T | grep -c "^[0-9].* 3/3 ")" 6
same "as they were" "$(versions)" "$before"
same "it has noted its grace" "$(noted 3)" 6000000000
none "who is as ever has noted nothing" "$(noted 1)"

kill_hard server3
begun=$SECONDS
start_server 3 replicate=true || exit 1
same "the longer grace is still noted" "$(noted 3)" 6000000000
set_all 2
for _ in $(seq 600); do [[ $(noted 3) == 2000000000 ]] && break; sleep 0.1; done
same "the shorter one is noted" "$(noted 3)" 2000000000
same "when the longer one was over" "$((SECONDS - begun >= 5))" 1
until_whole
same "nothing is shortened any more" "$(shortened 3)" 2
same "all rows are as they were set last" "$(get_all 2)" 6
finish

#!/usr/bin/env bash
# A server with two stores is drained, and gets the tablets back when another server is lost: some of them in the other
# store, beside the copy that was let go there.  All of them have two copies again; requests find the one that leads,
# also after a restart; and what was let go is dropped, and not the copy that counts.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
keep=20
settings=("memory_limit=64 MiB" "log_segment=1 MiB" "ballast=1 MiB" replicate=true "map_size=1 GiB")
start_master replication.replicas=2 replication.min_in_sync=1 "replication.replace_after=3 s" \
    "replication.keep_outsiders=$keep s" || exit 1
start() {
    local stores=()
    [[ $1 == 3 ]] && stores=("stores=$WORK/disk1,$WORK/disk2")
    start_server "$1" "${settings[@]}" "${stores[@]}" || exit 1
}
for n in 1 2 3; do start $n; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

address() { echo "tcp://127.0.0.1:$((PORT + $1))"; }
tablets=16
whole() { [[ $(ebt tablets many 2>/dev/null | grep -c "^[0-9].* 2/2 ") == "$tablets" ]]; }
settled() { whole && ! ebt tablets many 2>/dev/null | grep -qE 'gone|leaves|joins'; }
# Looked at until then: what was let go may be dropped before all is settled, where that takes longer than it is kept.
beside='' # a copy that was let go has been seen beside the one that counts
without_2() {
    local status=1
    settled && ! ebt tablets many 2>/dev/null | grep -q "$(address 2)" && status=0
    has_more_than_one && beside=yes
    return $status
}
rows() { ebt --timeout 60 count many 2>/dev/null | grep -oE '^[0-9]+' | tail -n 1; }
all_rows() { [[ $(rows) == "$tablets" ]]; }
# Copies that server 3 has, and how many tablets these are.
held() { curl -s "http://127.0.0.1:$((PORT + 103))/status" | grep -oE '"number":"[0-9]+","table"' | sort "$@" | wc -l; }
has_more_than_one() { [[ $(held) -gt $(held -u) ]]; }
has_one_of_each() { [[ $(held) == "$tablets" && $(held -u) == "$tablets" ]]; }

splits=$(printf '%s,' b c d e f g h i j k l m n o p)
ebt createtable many families=f "splits=${splits%,}" replicas=2 min-in-sync=1 || exit 1
await "all have two copies" $WHOLE_SECONDS whole
write_all() { for row in a b c d e f g h i j k l m n o p; do ebt --timeout 60 set many "$row" f:x=1 || bad "write $row"; done; }
write_all

says "drain" 0 'it may be stopped for good' ebt --timeout 100 drain "$(address 3)"
says "its end" 0 'takes replicas again' ebt drain "$(address 3)" --undo
await "all have two copies before another is lost" $WHOLE_SECONDS whole
kill_hard server2
await "all have two copies again" $WHOLE_SECONDS without_2
same "a tablet has two copies on one server, in two stores" "$beside" yes

kill_hard server3
start 3
# Written to, and both have it: else who was just started may be waited for a minute (rule 21), as nobody has borne it out.
# (It may be removed meanwhile, and come back: that it died is known a moment later only.)
versions() { ebt tablets many | awk '/^[0-9]/ { print $1, $5 }'; }
for _ in {1..10}; do
    await "they have so after a restart" $WHOLE_SECONDS settled
    before=$(versions)
    write_all
    settled && [[ $(versions) == "$before" ]] && break
done
same "both have what was written" "$(versions)" "$before"
kill_hard server1
await "who is left serves all of it" 120 all_rows
ebt --timeout 60 set many a2 f:x=1 && ok || bad "a write to the last server"
ebt --timeout 60 deleterow many a2 && ok || bad "and its end"

start 1
start 2
await "all have two copies at last" $WHOLE_SECONDS settled
is_tidy() { settled && has_one_of_each && all_rows; }
await "what was let go is dropped, and nothing else" $((keep + 240)) is_tidy # whoever is removed once more is kept as long again
finish

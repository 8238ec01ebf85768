#!/usr/bin/env bash
# A person gives up what two lost servers had, and goes on with what the third has; then the two come back, with more
# entries than there are now, or as many others.  They are taught what is there now: nothing of the history that was
# given up is shown by anybody, and nothing is lost that was acknowledged since.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
settings=("memory_limit=64 MiB" "log_segment=1 MiB" "ballast=1 MiB" replicate=true "map_size=1 GiB")
start_master replication.replicas=3 replication.min_in_sync=2 "replication.replace_after=3 s" || exit 1
for n in 1 2 3; do start_server $n "${settings[@]}" || exit 1; done

whole() { [[ $(ebt tablets "$table" | awk 'NR == 2 { print $4 }') == 3/3 ]]; }
writes() { ebt --timeout 5 set "$table" probe f:x=1 >/dev/null 2>&1; }
rows() { ebt --timeout 60 count "$table" "prefix=$1" 2>/dev/null | grep -oE '^[0-9]+' | tail -n 1; }
leader() { ebt --json tablets "$table" | grep -oE '"address":"tcp://127.0.0.1:[0-9]+' | head -n 1 | grep -oE '[0-9]+$' | { read -r port; echo $((port - PORT)); }; }
set_rows() { # PREFIX COUNT
    local i
    for ((i = 0; i < $2; i++)); do ebt --timeout 60 set "$table" "$1$i" f:x=$i >/dev/null || bad "a write failed: $1$i"; done
}
# Of this table: those of before have nobody either, and sooner.  And it is known of its members that they are gone, also of
# one that was removed before it died, and of the copy that is left that it is there: else one that is gone would be chosen.
alone() { [[ $(ebt --json servers | grep -c '"alive":true') == 1 ]]; }
is_lost() { alone && ebt recover "$table" 2>/dev/null | grep -q "nobody has led it .* do not count"; }

# give_up MIN_IN_SYNC WRITES: so many, before the two come back
give_up() {
    table=T$1-$2
    ebt createtable "$table" families=f replicas=3 "min-in-sync=$1" || exit 1
    set_rows k 3
    await "$table has three copies" $WHOLE_SECONDS whole
    kill_hard server1
    await "$table goes on with two" 90 writes
    set_rows r 20 # server 1 never hears of these
    kill_hard server2
    kill_hard server3
    start_server 1 "${settings[@]}" || exit 1
    await "$table is lost" 90 is_lost
    says "$table is what one has of it" 0 "is what store" ebt recover "$table" --accept-data-loss
    [[ $2 == 0 ]] || { await "$table is written to" 90 writes; set_rows w "$2"; }
    start_server 2 "${settings[@]}" || exit 1
    start_server 3 "${settings[@]}" || exit 1
    await "$table has three copies again" $WHOLE_SECONDS whole
    await "$table is written to again" 90 writes
    set_rows v 5
    for _ in 1 2 3; do
        same "rows that were given up, at server $(leader)" "$(rows r)" 0
        same "rows of before" "$(rows k)" 3
        same "rows written since" "$(rows w)" "$2"
        same "and behind them" "$(rows v)" 5
        gone=$(leader)
        kill_hard "server$gone"
        await "another leads $table" 90 writes
        start_server "$gone" "${settings[@]}" || exit 1
        await "$table is whole" $WHOLE_SECONDS whole
    done
}
give_up 1 40 # more than were given up
give_up 1 5  # fewer
give_up 2 0  # nothing can be written before they are back
finish

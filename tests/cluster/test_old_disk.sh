#!/usr/bin/env bash
# A disk that went back in time: a server's folder is replaced by an earlier copy of itself while the server is
# down, and that server leads the tablets.  Two whole copies are alive: nothing acknowledged is lost, and
# nobody is told of what was before (docs/replication.md, rules 19 to 21).
#
#   test_old_disk.sh [BUILD]
[[ ${1:-} != "" ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

start() { start_server "$1" replicate=true "zone=z$1" || exit 1; }
start_master "tablet.soft_limit_start=512 MiB" || exit 1
for n in 1 2 3; do start $n; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done

whole() { [[ $(ebt tablets load 2>/dev/null | grep -c "^[0-9].* 3/3 ") == 1 ]]; }
wait_for_whole() { await "$1: whole again" $WHOLE_SECONDS whole; }
primary() { local at; at=$(ebt tablets load | sed -n 2p | tr -s ' ' | cut -d' ' -f3); echo $((${at##*:} - PORT)); }
# Each row is acknowledged; one more is added to its counter each time.
write_all() {
    local i
    for i in 0 1 2 3 4 5 6 7; do
        ebt --timeout 60 set load "row$i" "plain:x=$1" && ebt --timeout 60 addtocell load "row$i" sum:n=1@0 || bad "row$i: not acknowledged"
    done
}
# read_all WHAT VALUE COUNT: at no time anything else is shown.
read_all() {
    local i got
    for i in 0 1 2 3 4 5 6 7; do
        got=$(ebt --timeout 60 --json lookup load "row$i" cells-per-column=1 2>&1)
        grep -q "\"$2\"" <<<"$got" && grep -q "\"number\":$3\b" <<<"$got" || bad "$1: row$i is not $2, $3: $got"
    done
    ok
}
kill_all() { local n; for n in 1 2 3; do kill_hard "server$n"; done; }

says "a table" 0 '' ebt createtable load families=plain,sum::intsum replicas=3 min-in-sync=2
wait_for_whole "at first"
write_all first

# --- the copy is made: of one that leads, and says so in its log ----------------------------------
old=$(primary)
others=(); for n in 1 2 3; do [[ $n == "$old" ]] || others+=("$n"); done
kill_all
cp -a "$WORK/server$old" "$WORK/earlier"
for n in "$old" "${others[@]}"; do start "$n"; done
wait_for_whole "after the copy was made"
write_all second

# --- it is put back, and comes first; the others seconds later ---------------------------------------
kill_all
rm -rf "$WORK/server$old"; cp -a "$WORK/earlier" "$WORK/server$old"
start "$old"
sleep 4 # it could have left both behind in two
for n in "${others[@]}"; do start "$n"; done
read_all "after all came back" second 2
write_all third
wait_for_whole "it is taught again"
read_all "and all was kept" third 3

# --- and once more, while the others live ---------------------------------------------------------------
old=$(primary)
kill_hard "server$old"
cp -a "$WORK/server$old" "$WORK/now"
start "$old"
wait_for_whole "once more"
write_all fourth
kill_hard "server$old"
rm -rf "$WORK/server$old"; mv "$WORK/now" "$WORK/server$old"
start "$old"
read_all "while the others lived" fourth 4
write_all fifth
wait_for_whole "it is taught once more"
read_all "and all was kept once more" fifth 5
finish

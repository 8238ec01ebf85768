#!/usr/bin/env bash
# The catalog's folder is emptied, or put back from an old copy, under running and restarted tablet servers:
# nothing is dropped or shown under another's name, both sides refuse and say what to do, and service goes on
# with the right catalog; or, where it is lost, with one that was ordered to succeed it.
#   test_lost_catalog.sh [BUILD] [--copies N]
[[ ${1:-} != "" && ${1:-} != --* ]] && { BUILD=$(realpath "$1"); shift; }
copies=1
[[ ${1:-} == --copies ]] && copies=$2
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
servers=$((copies > 2 ? copies : 2))

begin_master() { start_master "replication.replicas=$copies" "replication.keep_outsiders=1 s" "$@"; }
begin_servers() {
    local n
    for ((n = 1; n <= servers; n++)); do start_server $n "map_size=1 GiB" "ballast=0" "replicate=true" || return 1; done
}
end_servers() { local n; for ((n = 1; n <= servers; n++)); do kill_hard "server$n"; done; }

# soon WHAT COMMAND...: within two minutes, which only what hangs needs
soon() {
    local what=$1 begun=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS - begun > 120)) && { bad "$what: not within 120 s"; return 1; }
        sleep 0.1
    done
    ok
}
logged() { grep -qa -- "$2" "$WORK/$1.log"; }
all_alive() { [[ $(ebt --json servers | grep -o '"alive": *true' | wc -l) == "$servers" ]]; }
held() { curl -s "http://127.0.0.1:$((PORT + 100 + $1))/metrics" | awk '$1 == "edubba_tablets" { print $2 }'; }
held_by_all() { local n sum=0; for ((n = 1; n <= servers; n++)); do sum=$((sum + $(held $n))); done; echo $sum; }
catalog_is_disputed() { curl -s "http://127.0.0.1:$((PORT + 100))/metrics" | grep -q '^edubba_master_catalog_disputed 1'; }

# rows TABLE: what it holds
rows() { ebt --timeout 60 read "$1" 2>&1; }
rows_are_there() {
    same "$1: table a" "$(rows a)" "$a"
    same "$1: table b" "$(rows b)" "$b"
    soon "$1: tablets held" holds_all
}

# wrong NAME PATTERN: a master serves the wrong catalog to servers that run, and again to restarted ones
wrong() {
    local what=$1 pattern=$2 n begun
    begin_master || { bad "$what: no master"; return; }
    for again in running restarted; do
        for ((n = 1; n <= servers; n++)); do
            soon "$what: server $n ($again) says so" logged "server$n" "sync_refused.*$pattern"
            : >"$WORK/server$n.log"
        done
        soon "$what: the master says so" logged master "catalog_refused.*$pattern"
        soon "$what: it can be watched" catalog_is_disputed
        says_again "$what: people are told" 1 "$pattern" ebt --timeout 1 createtable other families=f
        machine_watch
        begun=$SECONDS
        says "$what: status answers" 1 "^! the catalog is disputed: .*$pattern" timeout 60 "$BUILD/client/cli/ebt" status
        says "$what: status answers as JSON, with nothing else" 1 '"alarms":\[\{"code":"catalog_disputed"[^}]*\}\]\}$' timeout 60 "$BUILD/client/cli/ebt" --json status
        at_most "$what: both together" $((SECONDS - begun)) 8 s
        if [[ $again == running ]]; then
            begun=$SECONDS
            says "$what: ls gives up" 1 "$pattern" timeout 50 "$BUILD/client/cli/ebt" ls
            says "$what: so does recover that only lists" 1 "$pattern" timeout 50 "$BUILD/client/cli/ebt" recover
            at_most "$what: both of these" $((SECONDS - begun)) 20 s
        fi
        sleep 1
        same "$what: tablets held ($again)" "$(held_by_all)" "$tablets"
        : >"$WORK/master.log"
        [[ $again == running ]] || continue
        end_servers
        begin_servers || bad "$what: the servers do not start"
    done
    kill_hard master
}
right() {
    rm -rf "$WORK/master"; mv "$WORK/newest" "$WORK/master"
    begin_master || bad "$1: no master"
    soon "$1: the servers are back" all_alive
    rows_are_there "$1"
    kill_hard master
    mv "$WORK/master" "$WORK/newest" # it knows more now: servers that were started anew
}

begin_master && begin_servers || exit 1
soon "the servers join" all_alive
ebt createtable a families=f splits=m >/dev/null || bad "createtable a"
for row in b k p z; do ebt set a $row f:q=in-a-$row >/dev/null || bad "set a $row"; done
kill_hard master
cp -a "$WORK/master" "$WORK/old"
begin_master
soon "the servers are back" all_alive
ebt createtable b families=f splits=g,t >/dev/null || bad "createtable b"
for row in c h u; do ebt set b $row f:q=in-b-$row >/dev/null || bad "set b $row"; done
a=$(rows a) b=$(rows b) tablets=$((5 * copies))
holds_all() { [[ $(held_by_all) == "$tablets" ]]; }
soon "the tablets are there" holds_all
generation=$(curl -s "http://127.0.0.1:$((PORT + 100))/status" | grep -oE '"generation":"[0-9]+"' | grep -oE '[0-9]+')
kill_hard master
mv "$WORK/master" "$WORK/newest"

wrong "an empty catalog" "belongs to catalog"
right "after an empty catalog"

rm -rf "$WORK/master"; cp -a "$WORK/old" "$WORK/master"
wrong "an old copy" "is an old one, of version"
right "after an old copy"

# Of several copies it may name others than those that are up to date by now, and then nobody leads: that is an alarm, and
# people choose a copy (docs/operations.md).
fewer() { ebt tablets a | grep -q " $((copies - 1))/$copies "; }
nobody_leads() { ebt --json status >"$WORK/not_led"; grep -q '"code":"tablets_not_led","message":"[12] tablets of a ' "$WORK/not_led"; }
shown_so() { ebt tablets a | grep -q not_led && curl -s "http://127.0.0.1:$((PORT + 100))/metrics" | grep -q '^edubba_master_tablets{state="not_led"} [1-9]'; }
recovered() { for tablet in $(ebt --json recover | grep -oE '"tablet":"?[0-9]+' | grep -oE '[0-9]+'); do ebt recover "$tablet" --accept-data-loss; done; ebt status; }
if ((copies > 1)); then
    rm -rf "$WORK/master"; cp -a "$WORK/newest" "$WORK/master"
    begin_master
    soon "the servers are back, once more" all_alive
    kill_hard server1
    soon "each tablet goes on without one" fewer
    start_server 1 "map_size=1 GiB" "ballast=0" "replicate=true"
    soon "the servers are back, all" all_alive
    kill_hard master
    rm -rf "$WORK/master"; cp -a "$WORK/old" "$WORK/master"
    begin_master "catalog.succeeds=$generation" "replication.replace_after=2 s"
    soon "the servers take the successor" all_alive
    soon "of its tablets nobody leads, and status says so" nobody_leads
    soon "the tablets and the metrics say the same" shown_so
    says "with what to do" 1 'ebt recover a' ebt status
    soon "a copy is chosen, and all is well" recovered
    same "the rows are there" "$(rows a)" "$a"
    finish
fi

# It is lost for good: the old copy succeeds it.  What it knows serves; what it does not know stays where it is.
rm -rf "$WORK/master"; cp -a "$WORK/old" "$WORK/master"
begin_master "catalog.succeeds=$generation" || bad "the successor does not start"
soon "the servers take the successor" all_alive
same "the successor: table a" "$(rows a)" "$a"
sleep 3
same "the successor: nothing is dropped" "$(held_by_all)" "$tablets"
soon "the successor: what it does not know is said" logged master tablet_unknown
says "the successor: a new table" 0 '' ebt createtable b families=f
none "the successor: the new one is empty" "$(rows b)"
kill_hard master
begin_master
soon "the order was carried out, and need not be given again" all_alive
kill_hard master
rm -rf "$WORK/master"; mv "$WORK/newest" "$WORK/master"
begin_master
soon "the lost one, found after all, is refused" logged master "catalog_refused.*belongs to catalog"
finish

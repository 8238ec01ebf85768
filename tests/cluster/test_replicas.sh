#!/usr/bin/env bash
# Tables with copies on three servers: what ebt shows and orders, while somebody counts.  Tablets are merged, a
# primary is killed, another one is frozen, a server is drained, and the master is away: nothing that was
# acknowledged is lost or doubled, and a client that is started meanwhile reads and writes.  A server is told not to
# replicate any more, and does not start.
#
#   test_replicas.sh [BUILD] [--away SECONDS]
#     --away   so long no master is there (default 5)
away=5
[[ ${1:-} != "" && ${1:-} != --* ]] && { BUILD=$(cd "$1" && pwd); shift; }
[[ ${1:-} == --away ]] && away=$2
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"

# All of them replicate.  A server's number in this test is that of its port.
start() { start_server "$1" replicate=true "zone=z$1" || exit 1; }
begin_master() { start_master "tablet.soft_limit_start=512 MiB"; } # no tablet is split here
begin_master || exit 1
for n in 1 2 3 4; do start $n; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 4 ]] && break; sleep 0.05; done

# until_says WHAT PATTERN COMMAND...: it comes to that within a minute.
until_says() {
    local what=$1 pattern=$2
    shift 2
    for _ in $(seq 600); do "$@" 2>/dev/null | grep -qE -- "$pattern" && { ok; return; }; sleep 0.2; done
    bad "$what: still not $pattern:"; "$@" 2>&1 | head -n 12
}
# Is every tablet of the table whole: so many in sync, of as many?
whole() { [[ $(ebt tablets "$1" | grep -c "^[0-9].* $2/$2 ") == "$3" ]] && echo whole; }
# On one line, for patterns.
status_line() { ebt status | tr '\n' ' '; return "${PIPESTATUS[0]}"; }
# primary TABLE: of its first tablet, by number.
primary() { local at; at=$(ebt tablets "$1" | sed -n 2p | tr -s ' ' | cut -d' ' -f3); echo $((${at##*:} - PORT)); }
address() { echo "tcp://127.0.0.1:$((PORT + $1))"; }

# --- what is shown ------------------------------------------------------------------------------
says "a table with three copies" 0 '' ebt createtable load families=plain,sum::intsum splits=a,m replicas=3 min-in-sync=2
until_says "all are in sync" whole whole load 3 3
says "ls" 0 '3 tablets, 3 replicas each, at least 2 in sync' ebt ls load
same "each replica has a line" "$(ebt tablets load | grep -cE ' (primary|secondary)$')" 9
same "and a place in the JSON" "$(ebt --json tablets load | grep -o '"role":"[a-z]*"' | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 3 "role":"primary"; 6 "role":"secondary";'
same "servers count them" "$(ebt --json servers | grep -oE '"tablets":[0-9]+' | tr -dc '0-9\n' | total)" 9
says "status" 0 'SERVERS   4, 4 alive, in zones z1 z2 z3 z4' ebt status
says "status has no alarm" 0 'TABLETS   3, 3 served, 0 lack copies.*ALARMS    none' status_line
says "status as JSON" 0 '"healthy":true.*"tablets":\{"count":3,"served":3,"unavailable":0,"lacking_copies":0\},"alarms":\[\]' ebt --json status
same "and who leads" "$(ebt --json servers | grep -oE '"primaries":[0-9]+' | tr -dc '0-9\n' | total)" 3

# --- somebody counts, and never stops ------------------------------------------------------------
# Each a client of its own; what it is told is done is one more in the file.
everybody="$EDUBBA_MASTERS,$(address 1),$(address 2),$(address 3),$(address 4)"
: >"$WORK/counted"
while [[ ! -e $WORK/enough ]]; do
    for row in 0 b n; do
        ebt --masters "$everybody" --timeout 60 addtocell load $row sum:n=1@0 2>>"$WORK/refused" && echo $row >>"$WORK/counted"
    done
    sleep 0.02
done &
PIDS[counter]=$!

# --- two neighbours are merged, and split again -----------------------------------------------------
says "two neighbours are merged" 0 '' ebt --timeout 60 merge load m
until_says "there are two tablets" whole whole load 3 2
same "the merged one ends where the right one did" "$(ebt --json tablets load | tail -n 1 | grep -o '"start":"[^"]*","end":"[^"]*"')" '"start":"a","end":""'
says "a boundary that is gone" 1 "INVALID_ARGUMENT: no tablet begins at row 'm': the right one of the two" ebt merge load m
says "there is nothing to take back" 1 "INVALID_ARGUMENT" ebt merge load m --undo
says "it is split again" 0 '' ebt --timeout 60 split load m
says "nor of two that are not to be merged" 1 "FAILED_PRECONDITION: .*nothing to take back" ebt merge load m --undo
says "merge takes no other word" 2 "and --undo, not '--und'" ebt merge load m --und
until_says "there are three" whole whole load 3 3

# --- a primary is killed ------------------------------------------------------------------------
dead=$(primary load)
machine_watch
kill_hard "server$dead"
begun=$SECONDS
ebt --timeout 60 set load '0' plain:x=1 && ok || bad "no write to the tablet of the killed primary"
at_most "another one leads" $((SECONDS - begun)) 12 s
until_says "it is shown as gone" gone ebt servers
until_says "its copies, too" ' (secondary, )?gone$' ebt tablets load
same "none of them joins" "$(ebt tablets load | grep -c "$(address "$dead") .*joins")" 0
says "and in JSON" 0 "\"address\":\"$(address "$dead")\"[^}]*\"alive\":false" ebt --json tablets load
says "status tells what to do" 1 "! the tablet server at $(address "$dead") is gone.*Start it again.*ebt drain [0-9]+" status_line
says "in JSON, too" 1 '"healthy":false.*"code":"server_gone"' ebt --json status
start "$dead"
until_says "it is taught again" whole whole load 3 3
until_says "and nothing needs a person any more" 'ALARMS    none' ebt status

# --- a primary is frozen: no connection breaks ----------------------------------------------------
frozen=$(primary load)
machine_watch
kill -STOP "$(pid_of "server$frozen")"
begun=$SECONDS
ebt --timeout 60 set load '1' plain:x=1 && ok || bad "no write to the tablet of the frozen primary"
at_most "another one leads" $((SECONDS - begun)) 15 s
kill -CONT "$(pid_of "server$frozen")"
until_says "it is a secondary, or leads again" whole whole load 3 3

# --- a server is drained ------------------------------------------------------------------------
says "drain" 0 'is drained: it may be stopped for good' ebt --timeout 100 drain "127.0.0.1:$((PORT + 2))"
same "nothing is there" "$(ebt servers | grep "$(address 2) " | tr -s ' ' | cut -d' ' -f3,5,6)" "drained 0 0"
same "nor in the table" "$(ebt tablets load | grep -c "$(address 2) ")" 0
until_says "all are in sync" whole whole load 3 3
says "its end" 0 'takes replicas again; 0 are there' ebt drain "$(address 2)" --undo
ebt createtable four families=f replicas=4 min-in-sync=2 && ok || bad "createtable four"
# (What else is there goes first, where anything has come back meanwhile.)
drain_says() { grep -qE -- "$1" <<<"$(ebt --timeout 8 drain "$(address 2)" 2>&1)"; }
await "a drain that cannot end tells why" 120 drain_says '^1 cannot go: there is no other tablet server that is alive, .* and without a copy of their tablet'
says_again "and its end" 1 'DEADLINE_EXCEEDED: 1 replicas are still there after 8 s .*, 1 of them cannot go to another server' ebt --timeout 8 drain "$(address 2)"
says "it is an alarm" 1 '! the tablet server at [^ ]* is to be drained, and 1 of its replicas cannot go: .*The order is taken back by: ebt drain [0-9]* --undo' status_line
says "in JSON, too" 1 '"code":"drain_stuck"' ebt --json status
says "it is taken back" 0 'takes replicas again' ebt drain "$(address 2)" --undo
ebt deletetable four
until_says "then nothing is wrong" 'ALARMS    none' ebt status

# --- fewer copies, and more -----------------------------------------------------------------------
says "two copies, both of which a write needs: that is warned of" 0 'warning: .*needs all copies.*min-in-sync=1 lets them go on' ebt setreplication load replicas=2
says "and an alarm" 1 'writes to load need all of its 2 copies' status_line
until_says "one is given up" whole whole load 2 3
says "three" 0 '' ebt setreplication load replicas=3
until_says "one is made" whole whole load 3 3

# --- no master is there -------------------------------------------------------------------------
ebt --timeout 60 set load away plain:x=0
kill_hard master
machine_watch
begun=$SECONDS
rounds=0
while ((SECONDS - begun < away)); do # each a client of its own, given one server's address behind the master's
    rounds=$((rounds + 1))
    masters="$EDUBBA_MASTERS,$(address $((rounds % 4 + 1)))" asked=$SECONDS
    ebt --masters "$masters" --timeout 60 set load away "plain:x=$rounds@-1" || { bad "a new client's write, without a master"; break; }
    says "and what it reads" 0 "\"$rounds\"" ebt --masters "$masters" --timeout 60 lookup load away cells-per-column=1
    at_most "both of them" $((SECONDS - asked)) 20 s
done
same "there were such clients" "$((rounds > 0))" 1
says "they see the tablets" 0 'serving' ebt --masters "$EDUBBA_MASTERS,$(address 3)" tablets load
says "status without a master" 1 'active: none.*no master is active' status_line
begin_master

# --- tablets are split under load ---------------------------------------------------------------------
# Writes that come while nobody knows who will serve are held for a moment.  How many are refused all the same is
# told, and no more: it hangs on the machine's speed, and those that are sent to a new primary count, too.
total() { for n in 1 2 3 4; do curl -s "http://127.0.0.1:$((PORT + 100 + n))/metrics"; done | awk -v name="$1" '$1 ~ "^" name { sum += $2 } END { print sum + 0 }'; }
load() { "$BUILD/client/load/edubba-load" --quiet "$@" --table split --records 20000 --timeout 60 --fail-on-errors --verify; }
load load write >"$WORK/split.out" 2>&1 || bad "filling: $(tail -n 5 "$WORK/split.out")"
ebt setreplication split replicas=3 min-in-sync=2 || bad "setreplication"
until_says "all are in sync" whole whole split 3 1
refused=$(total 'edubba_operation_errors_total.*mutate') held=$(total edubba_writes_held_total)
written() { total 'edubba_operations_total.*mutate'; }
# Until the load has written more; it may be over.
until_more_written() {
    local before
    before=$(written)
    while kill -0 $writes 2>/dev/null && (($(written) < before + 1000)); do sleep 0.1; done
}
for attempt in 0 1 2 3; do # (Splits may take so long on a busy machine that the load is over before they are done.)
    load run write --duration 8 >"$WORK/split.out" 2>&1 & writes=$!
    for row in $((5 + attempt)) $((10 + attempt)) $((15 + attempt)); do
        until_more_written
        ebt split split "$(printf '%013d' $row)" || bad "split at $row"
    done
    wait $writes || bad "writes while tablets are split: $(tail -n 12 "$WORK/split.out")"
    (($(total edubba_writes_held_total) > held)) && break
done
refused=$(($(total 'edubba_operation_errors_total.*mutate') - refused)) held=$(($(total edubba_writes_held_total) - held))
echo "  while tablets were split $held writes were held, $refused refused"
same "such writes are held" "$((held > 0))" 1

# --- what was counted -------------------------------------------------------------------------------
: >"$WORK/enough"; wait "$(pid_of counter)"; unset 'PIDS[counter]'
until_says "all are in sync" whole whole load 3 3
# Whoever waits for more than two seconds, for the master that is gone, is told why: that is no refusal.
none "nobody was refused, or waited in vain" "$(grep -v '^ebt: waiting, for 60 s at most' "$WORK/refused")"
for row in 0 b n; do
    same "nothing of row $row was lost or doubled" "$(ebt --json lookup load $row columns=sum:n | grep -o '"number":[0-9]*')" "\"number\":$(grep -c "^$row" "$WORK/counted")"
done

# --- a server that shall not replicate any more -------------------------------------------------------
# It would ask nobody, and read out what the others have overwritten since.
stop_soft server4
LAUNCH_ONLY=1 start_server 4 replicate=false zone=z4
wait "$(pid_of server4)"; same "it does not start" $? 1; unset 'PIDS[server4]'
tail -n 3 "$WORK/server4.log" | grep -q 'set `replicate = true` again' && ok || bad "it does not say why: $(tail -n 3 "$WORK/server4.log")"
start 4
until_says "with true it is back" whole whole load 3 3
finish

#!/usr/bin/env bash
# A disk that hangs: the file system below one of a server's two stores is frozen while somebody counts.  Others lead what
# that store led, and its fellow goes on; the server stays in touch with its master and tells what is the matter.  When
# the disk goes on so does the store, and nothing that was acknowledged is lost or doubled.  A server that is stopped
# meanwhile says in the end that it does not wait any longer.  Then the disk of a server's own folder hangs, on which no
# store is: that is said, and nothing else.  Then the master's disk hangs: that is an alarm.
[[ ${1:-} != "" ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
# Two of the same size, so that both stores get tablets, one for a folder, and one for the master.
for disk in disk other notes catalog; do
    truncate -s 1G "$WORK/$disk.image"
    mkdir "$WORK/$disk"
    if ! { mkfs.ext4 -q -F "$WORK/$disk.image" && mount -o loop "$WORK/$disk.image" "$WORK/$disk"; } 2>/dev/null; then
        umount "$WORK/disk" "$WORK/other" "$WORK/notes" 2>/dev/null
        echo "skipped: no right to mount a file here, or no mkfs.ext4"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done
freeze() { fsfreeze --freeze "$WORK/${1:-disk}"; }
thaw() { fsfreeze --unfreeze "$WORK/${1:-disk}" 2>/dev/null; }
# (What has a file open there keeps it mounted; a frozen file system is never let go.)
let_go() {
    local disk
    thaw
    thaw notes
    thaw catalog
    kill -KILL "${PIDS[@]}" 2>/dev/null
    wait 2>/dev/null
    for disk in disk other notes catalog; do umount "$WORK/$disk" || umount -l "$WORK/$disk"; done
    rm -rf "$WORK"
}
trap let_go EXIT

settings=(replicate=true "ballast=1 MiB" "log_segment=4 MiB" "map_size=1 GiB")
start() {
    local stores=()
    [[ $1 == 1 ]] && stores=("stores=$WORK/disk/store,$WORK/other/store")
    [[ $1 == 2 ]] && stores=("folder=$WORK/notes/server2" "stores=$WORK/server2/store")
    start_server "$1" "${settings[@]}" "${stores[@]}"
}
start_master "folder=$WORK/catalog/master" "tablet.soft_limit_start=512 MiB" balance.enabled=false || exit 1
for n in 1 2 3; do start $n || exit 1; done
for _ in $(seq 600); do [[ $(ebt --json servers 2>/dev/null | grep -c '"alive":true') == 3 ]] && break; sleep 0.05; done
rows=(0 a b c d e f g h i j k)
address=tcp://127.0.0.1:$((PORT + 1))
splits=$(printf '%s,' "${rows[@]:1}")
ebt createtable T families=f,sum::intsum "splits=${splits%,}" replicas=3 min-in-sync=2 || exit 1
whole() { [[ $(ebt tablets T 2>/dev/null | grep -c "^[0-9].* 3/3 ") == "${#rows[@]}" ]]; }
await "all have three copies" $WHOLE_SECONDS whole

acknowledged=0
# One more in each row, within so many seconds.
count_all() {
    local row
    for row in "${rows[@]}"; do
        if ebt --timeout "$1" addtocell T "$row" sum:n=1@0 >/dev/null 2>"$WORK/refused"; then
            acknowledged=$((acknowledged + 1))
        else
            bad "$2: row $row: $(tail -n 1 "$WORK/refused")"
        fi
    done
}
counted() { ebt --timeout 60 --json read T columns=sum:n | grep -oE "\"number\":[0-9]+" | tr -dc "0-9\n" | total; }
count_all 60 "before"

freeze
machine_watch
begun=$SECONDS
count_all 60 "while a disk hangs"
at_most "until others lead what was there" $((SECONDS - begun)) 40 s
health() { curl -s "http://127.0.0.1:$((PORT + 101))/health"; }
says_what() { grep -q 'disk/store: failed: .*the disk stands still' <<<"$(health)"; }
await "its server says what is the matter" 60 says_what
alarmed() { [[ $(ebt --json status) == *'"code":"store_failed"'* ]]; }
await "and so does the cluster" 60 alarmed
in_touch() { ebt servers | grep -qE "$address +alive +failed"; }
await "the server is in touch with its master" 60 in_touch
count_all 30 "while it goes on hanging"
same "all of it is there" "$(counted)" "$acknowledged"

thaw
await "all have three copies again" $WHOLE_SECONDS whole
await "nothing is the matter any more" 60 eval '[[ $(health) == ok ]]'
count_all 60 "after it"
same "and there, too" "$(counted)" "$acknowledged"

# Who stops it learns why it takes so long; and it leaves nobody waiting for a lease.
freeze
count_all 60 "while it hangs again"
kill -TERM "$(pid_of server1)"
not_stopped() { grep -q 'not_stopped' "$WORK/server1.log"; }
await "it ends without the disk" 60 not_stopped
count_all 60 "without it"
thaw
wait "$(pid_of server1)"
same "with an error" $? 1
unset 'PIDS[server1]'
start 1 || bad "it does not start again"
await "all have three copies in the end" $WHOLE_SECONDS whole
same "and all of it" "$(counted)" "$acknowledged"

# --- the disk of a server's own folder: its store is on another ---------------------------------------
freeze notes
says "a table is made while a server's folder hangs" 0 '' ebt --timeout 60 createtable W families=f
health2() { curl -s "http://127.0.0.1:$((PORT + 102))/health"; }
says_folder() { grep -q 'notes/server2: the disk stands still' <<<"$(health2)"; }
await "its server says so" 60 says_folder
is_there() { ebt servers | grep -qE "tcp://127.0.0.1:$((PORT + 2)) +alive +healthy"; }
says "it is in touch with its master" 0 '' is_there
count_all 60 "while a folder hangs"
thaw notes
await "and goes on" 60 eval '[[ $(health2) == ok ]]'

# --- the master's disk: rows are served, and it is said that nothing else is -------------------------
freeze catalog
says "a table waits" 1 DEADLINE_EXCEEDED ebt --timeout 2 createtable U families=f
is_said() { [[ $(ebt --json status) == *'"code":"catalog_not_written"'* ]]; }
await "the catalog cannot be changed: that is an alarm" 60 is_said
count_all 60 "while the master's disk hangs"
thaw catalog
is_said_no_more() { ! is_said; }
await "and goes by itself" 60 is_said_no_more
says "a table is made" 0 '' ebt --timeout 60 createtable V families=f
same "and nothing is lost" "$(counted)" "$acknowledged"
finish

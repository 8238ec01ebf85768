#!/usr/bin/env bash
# A full disk, with real processes on a small tmpfs: writes are refused and say why, reads and deletes
# go on, nothing acknowledged is lost, and it heals by itself: when rows are deleted, one by one or
# all at once, and when the disk grows; over a kill -9 too.  What begins on a full disk says so.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
mkdir "$WORK/disk"
if ! mount -t tmpfs -o size=48m tmpfs "$WORK/disk" 2>/dev/null; then
    echo "skipped: no right to mount a tmpfs here"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
trap 'kill -KILL "${PIDS[@]}" 2>/dev/null; wait; umount -l "$WORK/disk"; umount -l "$WORK/none" 2>/dev/null; rm -rf "$WORK"' EXIT
settings=("folder=$WORK/disk/server" "log_segment=1 MiB" "log_limit=4 MiB" "memtable_limit=1 MiB" "memory_limit=4 MiB" "ballast=6 MiB" "map_size=1 GiB")
start_master || exit 1
start_server 1 "${settings[@]}" || exit 1
for _ in $(seq 600); do ebt --json servers 2>/dev/null | grep -q '"alive":true' && break; sleep 0.05; done
ebt createtable T families=f || bad "createtable"
ebt set T first f:v=kept@1000 || bad "set"
value=$(head -c 120000 /dev/urandom | base64 -w 0 | head -c 120000) # an argument takes no more

fetch() {
    exec 5<>"/dev/tcp/127.0.0.1/$((PORT + 101))"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&5
    cat <&5
    exec 5<&-
}

# fill PREFIX: rows of 120 kB until one is refused; the names of those acknowledged go into the array
# `rows`.  What comes too fast for the disk (UNAVAILABLE) is retried by ebt itself.
rows=()
fill() {
    local i refusal status=0 begun=${#rows[@]}
    for ((i = 100; i < 2100; i++)); do
        for _ in 1 2 3 4 5 6; do # one that is only late is written once more
            status=0
            refusal=$(ebt --timeout 5 set T "$1$i" "f:v=$value" 2>&1) || status=$?
            [[ $status != 0 && $refusal == *DEADLINE* && $refusal != *'store is full'* ]] || break
        done
        ((status == 0)) || break
        rows+=("$1$i")
    done
    same "$1: a refused write ends with 1" "$status" 1
    if grep -q 'store is full: writes are refused' <<<"$refusal"; then ok
    else bad "$1: after $((${#rows[@]} - begun)) rows: ${refusal:0:200}"; fi
    if ((${#rows[@]} - begun >= 50)); then ok; else bad "$1: only $((${#rows[@]} - begun)) rows were let in"; fi
}

# Every acknowledged row that was not deleted is there, with its value, and no other.
check_rows() {
    same "$1: rows" "$(ebt read T prefix=row keys-only=true | sort)" "$(printf '%s\n' "${rows[@]}" | sort)"
    # (One that was late, and was written once more, has two cells.)
    same "$1: values" "$(ebt read T prefix=row cells-per-column=1 | grep -cF "$value")" "${#rows[@]}"
    same "$1: the first row" "$(ebt --json lookup T first | grep -c kept)" 1
}

# stays_full WHAT SECONDS: asked again and again, /health always says what is the matter.
stays_full() {
    local end=$((SECONDS + $2)) text
    while ((SECONDS < end)); do
        text=$(fetch /health)
        if ! grep -q '^HTTP/1.. 503' <<<"$text" || ! grep -q "disk/server.*full.*delete rows" <<<"$text"; then
            bad "$1: /health says ${text:0:300}"
            return
        fi
        sleep 0.05
    done
    ok
}

# heals WHAT: writes are let in again by itself, in bounded time, and it stays so.
heals() {
    local n=0
    until ebt --timeout 2 set T again f:v=1 2>/dev/null; do
        if ((++n > 60)); then bad "$1: it does not heal: $(fetch /health | tail -n 1)"; return; fi
        sleep 0.25
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        if ! fetch /health | grep -q '^ok'; then bad "$1: /health says $(fetch /health | tail -n 1)"; return; fi
        sleep 0.1
    done
    ok
}

# 1. Rows deleted one by one.
fill rowa
stays_full "writes refused" 3
check_rows "full"
same "the figures are there" "$(fetch /metrics | grep -cE '^edubba_(base_reusable|disk_free)_bytes [0-9]')" 2
refused=0
ebt --timeout 2 set T more f:v=1 2>/dev/null || refused=1
same "a small write is refused too" "$refused" 1
deleted=0
while ((deleted < 2 * ${#rows[@]} / 3)); do
    ebt --timeout 60 deleterow T "${rows[deleted]}" || bad "deleterow ${rows[deleted]}"
    deleted=$((deleted + 1))
done
rows=("${rows[@]:deleted}")
heals "rows deleted one by one"
check_rows "healed"

# 2. Full again, killed, and all rows dropped at once.
fill rowb
kill_hard server1
start_server 1 "${settings[@]}" || bad "it does not start on a full disk"
stays_full "after kill -9" 1
check_rows "after kill -9"
says "all rows can be deleted" 0 '' ebt --timeout 60 deleteallrows T prefix=row
rows=()
heals "all rows deleted"
same "nothing came back" "$(ebt count T prefix=row)" 0

# 3. Full again, and the disk grows.
fill rowc
stays_full "the third time" 1
mount -o remount,size=256m "$WORK/disk"
heals "a larger disk"
check_rows "a larger disk"
kill_hard server1
start_server 1 "${settings[@]}" || bad "it does not start again"
check_rows "in the end"
same "the log says it" "$(grep -c store_full "$WORK/server1.log") $(grep -c store_has_room_again "$WORK/server1.log")" "4 3"
# 4. A first start on a full disk says so, of a master and of a store beside another one, and nobody ends without a word.
mkdir "$WORK/none"
mount -t tmpfs -o size=64k tmpfs "$WORK/none"
mkdir -p "$WORK/none/master" "$WORK/none/store"
head -c 100000 /dev/zero >"$WORK/none/filling" 2>/dev/null
says "a master on a full disk" 1 "none/master.*No space left on device" "$BUILD/master/edubba-master" \
    --set "folder=$WORK/none/master" --set "address=tcp://127.0.0.1:$((PORT + 2))" --set "http.address=127.0.0.1:$((PORT + 102))"
start_server 2 "stores=$WORK/two,$WORK/none/store" "ballast=1 MiB" "log_segment=1 MiB" || bad "one full disk of two keeps a server from starting"
same "which says it" "$(grep -c 'store_not_opened.*none/store.*No space left on device' "$WORK/server2.log")" 1
umount -l "$WORK/none"
finish

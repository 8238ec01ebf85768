#!/usr/bin/env bash
# A full disk, with real processes on a small tmpfs: writes are refused and say why, reads and deletes
# go on, nothing acknowledged is lost, and it heals by itself when space returns.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
mkdir "$WORK/disk"
if ! mount -t tmpfs -o size=64m tmpfs "$WORK/disk" 2>/dev/null; then
    echo "no right to mount a tmpfs here"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
trap 'kill -KILL "${PIDS[@]}" 2>/dev/null; wait; umount -l "$WORK/disk"; rm -rf "$WORK"' EXIT
settings=("folder=$WORK/disk/server" "log_segment=1 MiB" "log_limit=4 MiB" "memtable_limit=1 MiB" "memory_limit=4 MiB" "ballast=6 MiB" "map_size=1 GiB")
start_master || exit 1
start_server 1 "${settings[@]}" || exit 1
for _ in $(seq 100); do ebt --json servers 2>/dev/null | grep -q '"alive":true' && break; sleep 0.05; done
ebt createtable T families=f || bad "createtable"
ebt set T first f:v=kept@1000 || bad "set"

# Rows of 64 KiB until one is refused; what was acknowledged is counted.
value=$(head -c 65536 /dev/urandom | base64 -w 0 | head -c 65536)
acknowledged=0 refusal=
for ((i = 0; i < 2000; i++)); do
    if ! refusal=$(ebt --timeout 5 set T "row$i" "f:v=$value" 2>&1); then break; fi
    acknowledged=$((acknowledged + 1))
done
if grep -qE 'RESOURCE_EXHAUSTED.*full|full' <<<"$refusal"; then ok; else bad "after $acknowledged rows: ${refusal:0:200}"; fi
same "all that was acknowledged is there" "$(ebt count T prefix=row)" "$acknowledged"
same "reads go on" "$(ebt --json lookup T first | grep -c kept)" 1
says "a row can be deleted" 0 '' ebt --timeout 20 deleterow T row0
kill_hard server1
start_server 1 "${settings[@]}" || bad "it does not start on a full disk"
same "all is there after kill -9" "$(ebt count T prefix=row)" "$((acknowledged - 1))"
says "all rows can be deleted" 0 '' ebt --timeout 20 deleteallrows T prefix=row
mount -o remount,size=256m "$WORK/disk"
healed=0
for _ in $(seq 60); do
    if ebt --timeout 2 set T again f:v=1 2>/dev/null; then healed=1; break; fi
    sleep 0.5
done
same "it heals by itself" "$healed" 1
same "and has kept what it should" "$(ebt read T keys-only=true | tr '\n' ' ')" "again first "
finish

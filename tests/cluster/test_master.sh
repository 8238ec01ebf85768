#!/bin/bash
# Kill -9 the master at random moments while tables are created: what was acknowledged stays, and
# numbers are never given twice.   test_master.sh MASTER DRIVER [ROUNDS]
set -u
master=$1 driver=$2 rounds=${3:-8}
folder=$(mktemp -d)
source "$(dirname "$0")/ports.sh"
claim_ports || exit 1
port=$PORT
address=tcp://127.0.0.1:$port
pids=()

finish() {
    { for pid in "${pids[@]}"; do kill -9 "$pid"; done; wait; } 2>/dev/null
    rm -rf "$folder"
}
trap finish EXIT

start_master() {
    "$master" --set folder="$folder/m" --set address=$address --set http.address=127.0.0.1:0 \
        --set server.timeout="1 s" --ready-fd 3 3>"$folder/ready" 2>>"$folder/log" &
    master_pid=$!
    for _ in $(seq 3000); do
        grep -q READY "$folder/ready" 2>/dev/null && return 0
        kill -0 $master_pid 2>/dev/null || break
        sleep 0.02
    done
    echo "the master did not start:"; tail -5 "$folder/log"; exit 1
}

: >"$folder/acknowledged"
start_master
for number in 1 2 3; do
    "$driver" serve $address $number & pids+=($!)
done
"$driver" create $address t >"$folder/acknowledged" & creator=$!; pids+=($creator)
for _ in $(seq "$rounds"); do
    sleep 0.$((RANDOM % 6 + 3))
    { kill -9 $master_pid; wait $master_pid; } 2>/dev/null
    : >"$folder/ready"
    start_master
done
sleep 1
kill -0 $creator || { echo "the creator ended"; exit 1; }
{ kill $creator; wait $creator; } 2>/dev/null
"$driver" check $address <"$folder/acknowledged" || { tail -5 "$folder/log"; exit 1; }
kill $master_pid; wait $master_pid || { echo "SIGTERM: exit code $?"; exit 1; }
# once more from rest, and a second master on the same folder is refused by name
: >"$folder/ready"
start_master
pids+=($master_pid)
"$driver" check $address <"$folder/acknowledged" || exit 1
http=$(sed -n 's/.*http=127.0.0.1:\([0-9]*\).*/\1/p' "$folder/ready")
fetch() { exec 5<>"/dev/tcp/127.0.0.1/$http"; printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&5; cat <&5; }
fetch /health | grep -q '^ok' || { echo "/health does not answer ok"; exit 1; }
# shows PATH PATTERN: within a minute, as its servers come back
shows() {
    for _ in $(seq 600); do fetch "$1" | grep -q "$2" && return 0; sleep 0.1; done
    echo "$1 does not show $2"; exit 1
}
shows /status '"alive":true'
shows /metrics 'edubba_master_tablets{state="serving"} [1-9]'
shows /metrics 'edubba_build_info{version="[0-9.]*",commit="[^"]*"} 1'
"$master" --set folder="$folder/m" --set address=tcp://127.0.0.1:0 2>"$folder/second"
[ $? = 1 ] && grep -q "LOCK is locked by process $master_pid" "$folder/second" ||
    { echo "a second master was not refused:"; cat "$folder/second"; exit 1; }
{ kill $master_pid; wait $master_pid; } 2>/dev/null
exit 0

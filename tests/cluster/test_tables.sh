#!/bin/bash
# Tables on a real master and three real tablet servers while all of them are killed with -9: what
# was acknowledged is there and serves; splits by hand are carried out; after deletion the servers
# hold nothing but what the master knows.   test_tables.sh MASTER TABLETSERVER DRIVER [ROUNDS]
set -u
master=$1 tabletserver=$2 driver=$3 rounds=${4:-3}
folder=$(mktemp -d)
source "$(dirname "$0")/ports.sh"
claim_ports || exit 1
port=$PORT
address=tcp://127.0.0.1:$port
server_pids=() master_pid='' creator=''

finish() {
    { kill -9 $master_pid $creator "${server_pids[@]}"; wait; } 2>/dev/null
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    echo "test_tables: $1"
    tail -n 3 "$folder"/*.log
    exit 1
}

# wait_ready NAME PID
wait_ready() {
    for _ in $(seq 3000); do
        grep -q READY "$folder/$1.ready" 2>/dev/null && return 0
        kill -0 "$2" 2>/dev/null || break
        sleep 0.02
    done
    fail "$1 did not start"
}

start_master() {
    : >"$folder/master.ready"
    "$master" --set folder="$folder/master" --set address=$address \
        --set http.address=127.0.0.1:0 --ready-fd 3 \
        3>"$folder/master.ready" 2>>"$folder/master.log" & master_pid=$!
    wait_ready master $master_pid
}

start_server() {
    : >"$folder/server$1.ready"
    "$tabletserver" --set folder="$folder/server$1" --set address=tcp://127.0.0.1:0 \
        --set http.address=127.0.0.1:0 --set masters=$address --set map_size="1 GiB" \
        --set ballast=0 --ready-fd 3 \
        3>"$folder/server$1.ready" 2>>"$folder/server$1.log" & server_pids[$1]=$!
    wait_ready "server$1" ${server_pids[$1]}
}

kill_now() { { kill -9 "$1"; wait "$1"; } 2>/dev/null; }

# metric NAME of the process with that ready file
metric() {
    local http
    http=$(sed -n 's/.*http=[^0-9]*127.0.0.1:\([0-9]*\).*/\1/p' "$folder/$1.ready")
    exec 5<>"/dev/tcp/127.0.0.1/$http"
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&5
    awk -v name="$2" '$1 == name { print $2 }' <&5
    exec 5<&-
}

tablets_held() {
    echo $(($(metric server1 edubba_tablets) + $(metric server2 edubba_tablets) +
        $(metric server3 edubba_tablets)))
}

start_master
for number in 1 2 3; do start_server $number; done
sleep 0.5
"$driver" create $address t >"$folder/acknowledged" & creator=$!
for _ in $(seq "$rounds"); do
    sleep 0.$((RANDOM % 5 + 3))
    kill_now $master_pid
    start_master
    sleep 0.3
    victim=$((RANDOM % 3 + 1))
    kill_now ${server_pids[$victim]}
    start_server $victim
done
sleep 1
kill_now $creator
creator=''
sleep 1
"$driver" check $address <"$folder/acknowledged" || fail "tables are missing"
head -20 "$folder/acknowledged" | "$driver" split $address >"$folder/split" || fail "splits failed"
tail -n +21 "$folder/acknowledged" >>"$folder/split"
"$driver" check $address <"$folder/split" || fail "splits are missing"
"$driver" delete $address <"$folder/split" || fail "tables could not be deleted"
for _ in $(seq 300); do
    sleep 0.2
    known=$(metric master 'edubba_master_tablets{state="serving"}')
    held=$(tablets_held)
    [ -n "$known" ] && [ "$known" = "$held" ] && exit 0
done
fail "the servers hold $held tablets, the master knows $known"

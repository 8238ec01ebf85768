# Sourced after cluster.sh and hosts.sh: a cluster on hosts, with the shims preloaded.
#
#   processes_begin              etcd and masters on hosts 1 to 3 (COORDINATOR=etcd) or a master on host 1
#                                (embedded); a tablet server on each host but 0
#   start_etcd N, start_master N, start_server N; kill_hard NAME and the rest are cluster.sh's
#   fail_disk NAME CALL ERROR PATTERN once|always, mend_disk NAME         shim_disk.c says what
#   step_clock NAME SECONDS                                               ahead of the right time
#   hold_clock NAME MS                                                    a server stood still for so long, and its clock too
#   cut_power NAME...            they are killed, at once, and what they had not synced may be lost
#   wait_whole                   all servers are alive, and all copies of the table under load count
# Of names: etcd1, master1, server1 ...; their folders are WORK/NAME, their shims' WORK/faults/NAME.
FAULTS_BUILD=$BUILD/tests/cluster/faults
MASTER_MORE=() SERVER_MORE=() # settings that a scenario wants
COORDINATOR=${COORDINATOR:-etcd} REPLICAS=${REPLICAS:-1}
masters_count() { if [[ $COORDINATOR == etcd ]]; then echo 3; else echo 1; fi; }

# Calls that change files, of which shim_disk knows none: with one of them in use, a power cut would be a lie.
UNKNOWN_CALLS='pwrite64|pwritev|pwritev64|pwritev2|write64|fallocate|fallocate64|truncate|truncate64|link|linkat|renameat|renameat2|unlinkat|openat|open64|creat|copy_file_range|sync_file_range|sendfile|io_submit|fwrite'
shims_check() {
    local file unknown
    for file in "$BUILD/tabletserver/edubba-tabletserver" "$BUILD/master/edubba-master" \
        "$(ldd "$BUILD/tabletserver/edubba-tabletserver" | awk '/liblmdb/ { print $3 }')"; do
        unknown=$(nm -D "$file" | grep -oE " U ($UNKNOWN_CALLS)(@|$)" | grep -oE '[a-z0-9_]+' | grep -v '^U$' | tr '\n' ' ')
        none "shim_disk stands in for all that $(basename "$file") calls" "$unknown"
    done
}

# shimmed NAME HOST: what to put before a binary.
shimmed() {
    local name=$1 host=$2 folder=$WORK/faults/$1
    mkdir -p "$folder/undo"
    LAUNCHER=(nsenter "--net=/run/netns/$(namespace_of "$host")" env "FAULTS_FOLDER=$folder" "FAULTS_DATA=$WORK/$name"
        "EDUBBA_TEST_CLOCK=$folder/clock" "LD_PRELOAD=$FAULTS_BUILD/shim_disk.so $BUILD/tests/cluster/set_clock.so")
}

etcd_url() { echo "http://$(address_of "$1"):$2"; }
start_etcd() {
    local n=$1
    nsenter "--net=/run/netns/$(namespace_of "$n")" etcd --name "m$n" --data-dir "$WORK/etcd$n" \
        --listen-client-urls "$(etcd_url "$n" 2379)" --advertise-client-urls "$(etcd_url "$n" 2379)" \
        --listen-peer-urls "$(etcd_url "$n" 2380)" --initial-advertise-peer-urls "$(etcd_url "$n" 2380)" \
        --initial-cluster "m1=$(etcd_url 1 2380),m2=$(etcd_url 2 2380),m3=$(etcd_url 3 2380)" \
        --initial-cluster-token "$WORK" >>"$WORK/etcd$n.log" 2>&1 </dev/null &
    PIDS[etcd$n]=$!
}
start_master() {
    local n=$1 settings
    shimmed "master$n" "$n"
    settings=("folder=$WORK/master$n" "address=tcp://$(address_of "$n"):7400" "http.address=$(address_of "$n"):7480"
        insecure=true "replication.replicas=$REPLICAS" "replication.min_in_sync=$((REPLICAS > 1 ? 2 : 1))")
    [[ $COORDINATOR == etcd ]] && settings+=(coordinator=etcd "etcd.endpoints=$(etcd_url 1 2379),$(etcd_url 2 2379),$(etcd_url 3 2379)")
    launch "master$n" "$BUILD/master/edubba-master" "${settings[@]}" "${MASTER_MORE[@]}"
    local status=$?
    LAUNCHER=()
    return $status
}
# Small memtables and log: flushes and recycling happen in the midst of it all.
server_settings() {
    local n=$1
    printf '%s\n' "folder=$WORK/server$n" "address=tcp://$(address_of "$n"):7401" "http.address=$(address_of "$n"):7481" insecure=true \
        "masters=$EDUBBA_MASTERS" "memtable_limit=256 KiB" "memory_limit=16 MiB" "log_limit=8 MiB" "log_segment=1 MiB" \
        "ballast=1 MiB" "map_size=4 GiB"
    ((REPLICAS == 1)) || echo "replicate=true"
}
start_server() {
    local n=$1 settings status
    mapfile -t settings < <(server_settings "$n")
    shimmed "server$n" "$n"
    launch "server$n" "$BUILD/tabletserver/edubba-tabletserver" "${settings[@]}" "${SERVER_MORE[@]}"
    status=$?
    LAUNCHER=()
    return $status
}
# start NAME...: those with a number, all kinds, one after the other.
start() {
    local name
    for name in "$@"; do "start_${name%%[0-9]*}" "${name##*[a-z]}" || return 1; done
}
names_of() { printf '%s\n' "${!PIDS[@]}" | grep -E "^($1)[0-9]+\$" | sort; }

ebt() { on 0 "$BUILD/client/cli/ebt" "$@"; }
servers_alive() { ebt --json --timeout 5 servers 2>/dev/null | grep -c '"alive": *true'; }
# Tablets of TABLE of which a copy does not count.
tablets_lacking() {
    ((REPLICAS > 1)) && [[ -n ${TABLE:-} ]] || { echo 0; return; }
    ebt --json --timeout 5 tablets "$TABLE" 2>/dev/null | "$(dirname "${BASH_SOURCE[0]}")/lacking.py" "$REPLICAS"
}
# A member that was removed again and again waits up to 64 s, while there are others enough (rule 13).
wait_whole() {
    local begun=$SECONDS
    until (($(servers_alive) >= HOSTS_MAX && $(tablets_lacking) == 0)); do
        ((SECONDS - begun < WHOLE_SECONDS)) || {
            bad "after $WHOLE_SECONDS s $(servers_alive) of $HOSTS_MAX servers are alive, $(tablets_lacking) tablets have not all copies"
            return 1
        }
        sleep 0.1
    done
}
# slices_sent BEFORE SERVER...: how many slices these have sent since it was BEFORE; unknown where one does not tell.
slices_sent() {
    local name before=$1
    shift
    for name in "$@"; do
        on 0 curl -s "http://$(address_of "${name#server}"):7481/metrics" | sed -nE 's/^edubba_slices_sent_total ([0-9]+)$/\1/p'
    done | awk -v before="$before" -v servers=$# '{ sum += $1 } END { print NR == servers ? sum - before : "unknown" }'
}
# Of host NUMBER, waited for.
active_master() {
    local active
    for _ in $(seq 1200); do
        active=$(ebt --timeout 5 masters 2>/dev/null | awk '$2 == "active" { print $1; exit }')
        [[ $active =~ 10\.77\.0\.([0-9]+) ]] && { echo $((BASH_REMATCH[1] - 10)); return; }
        sleep 0.05
    done
    echo none
}

processes_begin() {
    local n
    EDUBBA_MASTERS=''
    for ((n = 1; n <= $(masters_count); n++)); do EDUBBA_MASTERS+=${EDUBBA_MASTERS:+,}tcp://$(address_of $n):7400; done
    [[ $COORDINATOR == etcd ]] && { start etcd1 etcd2 etcd3 || return 1; }
    for ((n = 1; n <= $(masters_count); n++)); do start_master $n || return 1; done
    for ((n = 1; n <= HOSTS_MAX; n++)); do start_server $n || return 1; done
    # Clients know the servers too: these tell where tablets are while there is no master.
    CLIENT_MASTERS=$EDUBBA_MASTERS
    for ((n = 1; n <= HOSTS_MAX; n++)); do CLIENT_MASTERS+=,tcp://$(address_of $n):7401; done
    wait_whole
}

# --- faults ---------------------------------------------------------------------------------------
fail_disk() {
    local folder=$WORK/faults/$1
    echo "${*:2}" >"$folder/fail.new"
    mv "$folder/fail.new" "$folder/fail"
}
mend_disk() { rm -f "$WORK/faults/$1/fail"; }
step_clock() { echo "$2" >"$WORK/faults/$1/clock.new" && mv "$WORK/faults/$1/clock.new" "$WORK/faults/$1/clock"; }

declare -A HELD_MS
hold_clock() {
    HELD_MS[$1]=$((${HELD_MS[$1]:-0} + $2))
    step_clock "$1" "0 ${HELD_MS[$1]}"
}

kill_at_once() {
    local name pids=()
    for name in "$@"; do pids+=("${PIDS[$name]}"); done
    kill -KILL "${pids[@]}" 2>/dev/null
    for name in "$@"; do wait "${PIDS[$name]}" 2>/dev/null; unset "PIDS[$name]"; done
}
cut_power() {
    local name
    kill_at_once "$@"
    for name in "$@"; do
        [[ $name == etcd* ]] && continue # it makes its calls without a library: only killed
        lose_unsynced "$name"
    done
}
# Of one that has ended.  SECTORS_LOST counts, to see that there was something to lose.
SECTORS_LOST=0
lose_unsynced() {
    local lost seed=$RANDOM
    echo "power_cut: seed $seed" >>"$WORK/$1.log"
    lost=$("$FAULTS_BUILD/power_cut" "$WORK/$1" "$WORK/faults/$1" $seed) || bad "power_cut of $1"
    echo "$lost" >>"$WORK/$1.log"
    SECTORS_LOST=$((SECTORS_LOST + $(grep -oE '[0-9]+ sectors' <<<"$lost" | awk '{ sum += $1 } END { print sum + 0 }')))
}

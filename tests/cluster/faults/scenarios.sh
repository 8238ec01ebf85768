# Sourced after load.sh: what is done to a cluster under load.  Each scenario takes a number of rounds and
# leaves the cluster whole; README.md says what each shows.
SCENARIOS="kill_server kill_all power_cut stop_server partitions isolate_master coordinator_down sync_error disk_full clock_steps slow_network kill_balance lying_disk"
OF_SEVERAL_MASTERS="isolate_master kill_server_and_master"
REPLICATED="kill_server_and_master wiped_server long_stop freeze_server kill_decided" # only where tablets have several copies
LEASE_MS=1400

random_server() { echo "server$((1 + RANDOM % HOSTS_MAX))"; }
# Time to be missed in: with one copy nobody else can serve, so it may come back at once.
missed() { if ((REPLICAS > 1)); then sleep 6; else sleep 0.3; fi; }
# milliseconds
sleep_ms() { sleep "$(awk "BEGIN { print $1 / 1000 }")"; }
# gap_limits ROUNDS [P50 P99]: what is promised is of a hundred rounds; in a few the longest of all would have to stay
# below what one in a hundred may exceed, on a machine that may be busy with other things.
gap_limits() {
    ((REPLICAS > 1)) || return 0
    if (($1 >= 10)); then echo "--gap-p50 ${2:-3000} --gap-p99 ${3:-4000}"; else echo "--gap-p99 8000"; fi
}
ends_by_itself() { # NAME SECONDS
    local n
    for ((n = 0; n < $2 * 20; n++)); do
        kill -0 "${PIDS[$1]}" 2>/dev/null || { wait "${PIDS[$1]}" 2>/dev/null; unset "PIDS[$1]"; return 0; }
        sleep 0.05
    done
    return 1
}

kill_server() {
    local round name
    load_begin kill_server || return
    for ((round = 1; round <= $1; round++)); do
        name=$(random_server)
        event fault kill_server "$(keys_of "$name")"
        kill_hard "$name"
        missed
        start "$name" || { bad "round $round: $name does not come back"; return; }
        wait_whole
        event healed
        sleep 1.5
    done
    # shellcheck disable=SC2046  # words
    load_end --within 15 --at-least $((200 * $1)) $(gap_limits "$1")
}

# The active master dies with it: whoever takes over from the server's tablets waits for the next master first.
kill_server_and_master() {
    local round server active
    load_begin kill_server_and_master || return
    for ((round = 1; round <= $1; round++)); do
        server=$(random_server)
        active=$(active_master)
        [[ $active != none ]] || { bad "round $round: no master is active"; break; }
        event fault kill_server_and_master "$(keys_of "$server")"
        kill_at_once "$server" "master$active"
        missed
        start "$server" "master$active" || { bad "round $round: $server and master$active do not come back"; return; }
        wait_whole
        event healed
        sleep 1.5
    done
    # shellcheck disable=SC2046  # words
    load_end --within 15 --at-least $((200 * $1)) $(gap_limits "$1" 6000 6000)
}

kill_all() {
    local round names
    load_begin kill_all || return
    for ((round = 1; round <= $1; round++)); do
        mapfile -t names < <(names_of 'etcd|master|server')
        event fault kill_all "*"
        kill_at_once "${names[@]}"
        start "${names[@]}" || { bad "round $round: not all come back"; return; }
        wait_whole
        event healed
        sleep 1.5
    done
    load_end --within 15 --at-least $((100 * $1))
}

# power_fails NAME...: cut, in one case of three after a kill -9 and a new start, in one of three again
# while it starts.
power_fails() {
    local how=$((RANDOM % 3))
    if ((how == 1)); then
        kill_at_once "$@"
        start "$@" || return 1
        sleep_ms $((RANDOM % 1000))
    fi
    cut_power "$@"
    if ((how == 2)); then
        LAUNCH_ONLY=1
        start "$@"
        LAUNCH_ONLY=''
        sleep_ms $((RANDOM % 300))
        cut_power "$@"
    fi
    start "$@"
}
power_cut() {
    local round names tables=0
    load_begin power_cut || return
    SECTORS_LOST=0
    for ((round = 1; round <= $1; round++)); do
        if ((RANDOM % 2)); then mapfile -t names < <(names_of server); else names=("$(random_server)"); fi
        [[ $COORDINATOR == embedded ]] && ((RANDOM % 2)) && names+=(master1)
        event fault power_cut "*"
        power_fails "${names[@]}" || { bad "round $round: ${names[*]} do not all come back"; return; }
        wait_whole
        ebt createtable "power$round" families=f >/dev/null && tables=$((tables + 1))
        same "round $round: tables that were made" "$(ebt ls | grep -c '^power[0-9]')" $tables
        event healed
        sleep 1
    done
    for ((round = 1; round <= $1; round++)); do ebt deletetable "power$round"; done
    echo "    sectors that were not synced, and are gone: $SECTORS_LOST"
    (($1 < 5 || SECTORS_LOST > 0)) || bad "nothing was lost in $1 cuts: the scenario shows nothing"
    load_end --within 15 --at-least $((100 * $1))
}

# That a power cut can be seen at all: disks that only say that they have synced lose writes, and the check
# must find it, or a server must refuse what is left.
lying_disk() {
    local name names before=$FAILED found=''
    load_begin lying_disk || return
    mapfile -t names < <(names_of server)
    for name in "${names[@]}"; do fail_disk "$name" sync LIE "/$name/" always; done
    sleep 1
    event fault lying_disk "*"
    cut_power "${names[@]}"
    for name in "${names[@]}"; do mend_disk "$name"; done
    for name in "${names[@]}"; do start "$name" >"$WORK/refusal" || found="$name refuses to start"; done
    if [[ -z $found ]]; then
        wait_whole # of copies none is borne out by another: nobody goes on alone for 60 s (rule 21)
        event healed
        sleep 1
        load_end >"$WORK/found"
        found=$(grep -m 1 -E '^ *(lost|stale): ' "$WORK/found")
    fi
    FAILED=$before
    if [[ -n $found ]]; then ok; else
        bad "disks lied, and nothing was found"
        head -n 20 "$WORK/found"
    fi
    echo "    found: $found"
    cluster_fresh
}

# What is stopped for less than its lease serves on; for longer, others do, and it must not.
stop_server() {
    local round share name
    load_begin stop_server || return
    for ((round = 1; round <= $1; round++)); do
        for share in 50 90 110 300; do
            name=$(random_server)
            event fault "stopped_$share%" "$(keys_of "$name")"
            kill -STOP "${PIDS[$name]}"
            sleep_ms $((LEASE_MS * share / 100))
            kill -CONT "${PIDS[$name]}"
            sleep 1
        done
        wait_whole
        event healed
        sleep 1
    done
    load_end --within 15 --at-least $((300 * $1))
}

# A guest that its hypervisor stops finds its clock where it was: it counts on leases that are over, and nobody tells it.
# Some clients stood still as long, and ask it.  (With READS=leased stale reads are found: that is what leases cannot do.)
freeze_server_rounds() {
    local round n a readers
    load_begin freeze_server || return
    for ((round = 1; round <= $1; round++)); do
        a=$((1 + RANDOM % HOSTS_MAX)) readers=("${PIDS[load-reads0]}" "${PIDS[load-reads$a]}")
        event fault frozen "$(keys_of "server$a")"
        kill -STOP "${PIDS[server$a]}" "${readers[@]}"
        sleep 4
        for ((n = 1; n <= HOSTS_MAX; n++)); do ((n == a)) || network_cut $a $n; done
        hold_clock "server$a" 4000
        kill -CONT "${PIDS[server$a]}" "${readers[@]}"
        heal_after 2
    done
    load_end --within 15 --at-least $((200 * $1))
}
freeze_server() {
    SERVER_MORE=("reads=${READS:-confirmed}")
    cluster_fresh && freeze_server_rounds "$1"
    SERVER_MORE=() HELD_MS=()
    cluster_fresh
}

# heal_after SECONDS
heal_after() {
    sleep "$1"
    network_heal
    wait_whole
    event healed
    sleep 2
}
partitions() {
    local round a b n
    load_begin partitions || return
    for ((round = 1; round <= $1; round++)); do
        a=$((1 + RANDOM % HOSTS_MAX)) b=$((1 + a % HOSTS_MAX))
        event fault isolated "$(keys_of server$a)"
        network_isolate $a
        heal_after 4
        event fault one_way "$(keys_of server$a)$(keys_of server$b)"
        network_cut_one_way $a $b # b does not hear a, a hears b
        network_cut_one_way $b 0  # clients do not hear b
        heal_after 4
        event fault halves "*"
        for ((n = 2; n <= HOSTS_MAX; n++)); do network_cut 1 $n; done # clients reach both sides
        heal_after 4
        event fault flapping "$(keys_of server$a)"
        for ((n = 0; n < 6; n++)); do
            network_isolate $a
            sleep 0.4
            network_heal
            sleep 0.4
        done
        heal_after 0
    done
    load_end --within 15 --at-least $((300 * $1))
}

# The active master hears neither etcd, nor servers, nor clients; its host's tablet server hears the others,
# without which a table of three copies could not be made.
isolate_master() {
    local round active begun
    [[ $COORDINATOR == etcd ]] || { bad "isolate_master needs --coordinator etcd"; return; }
    load_begin isolate_master || return
    for ((round = 1; round <= $1; round++)); do
        active=$(active_master)
        [[ $active != none ]] || { bad "round $round: no master is active"; break; }
        event fault master_isolated "*"
        network_silence "$active" 7400
        network_silence "$active" 2379
        network_cut_port "$active" 2379
        begun=$SECONDS
        says "round $round: another master takes over" 0 "" ebt --timeout 60 createtable "isolated$round" families=f
        at_most "round $round: until it does" $((SECONDS - begun)) 20 s
        same "round $round: another one" "$(($(active_master) != active))" 1
        network_heal
        event healed
        says "round $round: the table is gone again" 0 "" ebt deletetable "isolated$round"
        sleep 1
    done
    load_end --within 10 --at-least $((300 * $1)) --all-ok --gap-p99 1500
}

# Tablets go on serving without masters and etcd, also those who come in only now.
OUTAGE_SECONDS=${OUTAGE_SECONDS:-6}
coordinator_down() {
    local round names
    load_begin coordinator_down || return
    for ((round = 1; round <= $1; round++)); do
        mapfile -t names < <(names_of 'etcd|master')
        event fault coordinator_down "*"
        kill_at_once "${names[@]}"
        load_start 0 "late$round" read 2
        loads_ready
        sleep "$OUTAGE_SECONDS"
        start "${names[@]}" || { bad "round $round: not all come back"; return; }
        wait_whole
        event healed
        sleep 1
    done
    load_end --within 10 --at-least $((300 * $1)) --all-ok --gap-p99 1500
}

# A failed sync ends the process, at once; what the disk lost by it is lost for the next one too.  Rows are written besides:
# however slow the machine, each server soon has a memtable to flush.
sync_error() {
    local round file name
    load_begin sync_error || return
    for ((round = 1; round <= $1; round++)); do
        for file in /log/ data.mdb; do
            name=$(random_server)
            event fault "sync_error_$(basename $file)" "$(keys_of "$name")"
            fail_disk "$name" sync EIO $file once
            on 0 "$BUILD/client/load/edubba-load" --quiet write --masters "$EDUBBA_MASTERS" --table synced --presplit 6 \
                --value-size 4000 --records 1000 --operations 1000 --timeout 60 >"$WORK/synced.out" 2>&1 &
            PIDS[filling]=$!
            if ends_by_itself "$name" 60; then ok; else
                bad "$name: a sync of $file fails, and it goes on"
                cut_power "$name"
            fi
            lose_unsynced "$name"
            mend_disk "$name"
            start "$name" || { bad "$name does not come back"; return; }
            wait_whole
            event healed
            wait "${PIDS[filling]}" || bad "rows besides: $(tail -n 2 "$WORK/synced.out")"
            unset "PIDS[filling]"
            sleep 1.5
        done
    done
    ebt deletetable synced || bad "deletetable synced"
    load_end --within 15 --at-least $((200 * $1))
}

# Nothing grows any more: writes are refused and say so, or go where there is room; reads go on; it heals.
disk_full() {
    local round name
    load_begin disk_full || return
    for ((round = 1; round <= $1; round++)); do
        name=$(random_server)
        event fault disk_full "$(keys_of "$name")"
        fail_disk "$name" grow ENOSPC "/$name/" always
        on 0 timeout 10 "$BUILD/client/load/edubba-load" --quiet write --masters "$EDUBBA_MASTERS" --table "full$round" --presplit 6 \
            --value-size 4000 --records 4000 --operations 4000 --timeout 4 >"$WORK/full.out" 2>&1
        kill -0 "${PIDS[$name]}" 2>/dev/null || { bad "$name has ended on a full disk"; unset "PIDS[$name]"; start "$name"; }
        sleep 1
        mend_disk "$name"
        wait_whole
        event healed
        ebt deletetable "full$round" || bad "deletetable full$round"
        sleep 2
    done
    load_end --within 30 --at-least $((200 * $1)) --may-refuse RESOURCE_EXHAUSTED
}

# An hour ahead and an hour back: a server, then a master, then all.
clock_steps() {
    local round name seconds names all
    load_begin clock_steps || return
    mapfile -t all < <(names_of 'master|server')
    for ((round = 1; round <= $1; round++)); do
        for seconds in 3600 0 -3600 0; do
            case $((RANDOM % 3)) in
                0) names=("$(random_server)") ;;
                1) mapfile -t names < <(names_of master) ;;
                2) names=("${all[@]}") ;;
            esac
            ((seconds == 0)) && names=("${all[@]}")
            event fault "clock_${seconds}_s" "*"
            for name in "${names[@]}"; do step_clock "$name" $seconds; done
            sleep 1.5
        done
        # Over a restart with the clock behind, too.
        name=$(random_server)
        step_clock "$name" -3600
        event fault clock_behind_at_start "$(keys_of "$name")"
        kill_hard "$name"
        start "$name" || { bad "$name does not come back"; return; }
        wait_whole
        step_clock "$name" 0
        event healed
        sleep 1
    done
    load_end --within 15 --at-least $((300 * $1))
}

# 20 to 30 ms each way, and one packet in fifty lost.
slow_network() {
    local round
    load_begin slow_network || return
    for ((round = 1; round <= $1; round++)); do
        event fault slow_network "*"
        network_slow 20 10 2 || break
        sleep 6
        network_fast
        event healed
        sleep 1
    done
    load_end --within 10 --at-least $((200 * $1))
}

# The new store is another member: it gets copies when the old one is replaced.  Logs are short, not kept, and
# filled before, however slow the machine: else they would still have all, and nothing would be sent in slices.
WIPED_MASTER=("replication.replace_after=10 s")
WIPED_SERVER=("log.keep=0 s" "log_limit=2 MiB" "memtable_limit=64 KiB")
wiped_server_rounds() {
    local round name others before
    load_begin wiped_server || return
    on 0 "$BUILD/client/load/edubba-load" --quiet write --masters "$EDUBBA_MASTERS" --table bulk --presplit 3 \
        --value-size 4000 --records 2000 --operations 2000 --timeout 60 >"$WORK/bulk.out" 2>&1 || bad "bulk: $(tail -n 2 "$WORK/bulk.out")"
    for ((round = 1; round <= $1; round++)); do
        name=$(random_server)
        event fault wiped_server "$(keys_of "$name")"
        kill_hard "$name"
        rm -rf "${WORK:?}/$name" "$WORK/faults/$name"
        mapfile -t others < <(names_of server)
        before=$(slices_sent 0 "${others[@]}")
        missed
        start "$name" || { bad "round $round: $name does not come back"; return; }
        wait_whole
        if [[ $(slices_sent "$before" "${others[@]}") =~ ^[1-9] ]]; then ok; else bad "round $round: $name was sent no slice"; fi
        event healed
        sleep 5
    done
    ebt deletetable bulk || bad "deletetable bulk"
    # shellcheck disable=SC2046  # words
    load_end --within 15 --at-least $((200 * $1)) $(gap_limits "$1")
}
wiped_server() {
    MASTER_MORE=("${WIPED_MASTER[@]}") SERVER_MORE=("${WIPED_SERVER[@]}")
    cluster_fresh && wiped_server_rounds "$1"
    MASTER_MORE=() SERVER_MORE=()
    cluster_fresh
}

# What was missed in half a minute the logs of the others still have: nobody is sent a slice.
long_stop() {
    local round name names before
    load_begin long_stop || return
    wait_whole
    mapfile -t names < <(names_of server)
    for ((round = 1; round <= $1; round++)); do
        name=$(random_server)
        before=$(slices_sent 0 "${names[@]}")
        event fault long_stop "$(keys_of "$name")"
        kill -STOP "${PIDS[$name]}"
        sleep 30
        same "round $round: the others go on without $name" "$(tablets_lacking)" "$(ebt --json tablets "$TABLE" | wc -l)"
        kill -CONT "${PIDS[$name]}"
        wait_whole
        same "round $round: slices that were sent" "$(slices_sent "$before" "${names[@]}")" 0
        event healed
        sleep 5
    done
    # shellcheck disable=SC2046  # words
    load_end --within 15 --at-least $((200 * $1)) $(gap_limits "$1")
}

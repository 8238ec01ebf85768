# Sourced after cluster.sh, where times are what a test is about: was the machine there for it?
#
#   machine_watch                    from here on
#   machine_was_elsewhere            since then somebody else had more than MACHINE_OTHERS_PERCENT of the processors, or all of
#                                    it stood still for longer than MACHINE_STILL_MS, or its disk took longer than
#                                    MACHINE_SYNC_MS to sync a block; says so in MACHINE_WHY
#   machine_still_ms                 how long all of it, or its disk, stood still since then, at a time, at most
#   at_most WHAT GOT LIMIT [UNIT]    ok, or bad; where it is over the limit and the machine was elsewhere, neither: that is told,
#                                    and counts as skipped.  Milliseconds, where nothing is said
#
# Ours is what this shell, what it has waited for, and what is in PIDS has used; somebody else's is all the rest that was used,
# a hypervisor's share ("steal") with it.  So a server of ours that uses too much is never an excuse.  Who keeps a disk
# busy cannot be told: hence so long a time, which no load of these tests takes of a sound one.
MACHINE_OTHERS_PERCENT=20 MACHINE_STILL_MS=500 MACHINE_SYNC_MS=1000
MACHINE_BEGUN='' MACHINE_WHY=''

# "ALL BUSY OURS", in ticks.
machine_ticks() {
    local pid stat busy=0 all=0 ours=0 user nice system idle iowait irq softirq steal
    read -r _ user nice system idle iowait irq softirq steal _ </proc/stat
    busy=$((user + nice + system + irq + softirq + steal)) all=$((busy + idle + iowait))
    for pid in $$ "${PIDS[@]}"; do
        { stat=$(<"/proc/$pid/stat"); } 2>/dev/null || continue
        # shellcheck disable=SC2086  # words; behind the name: state is the first, utime the twelfth
        set -- ${stat##*) }
        ours=$((ours + ${12} + ${13} + ${14} + ${15}))
    done
    echo "$all $busy $ours"
}

# Whoever watches keeps nothing open of the test's: who reads a pipe of it waits for the end.
machine_let_go() {
    local fd
    for fd in "/proc/$BASHPID/fd"/*; do
        fd=${fd##*/}
        ((fd < 3)) || eval "exec $fd>&-"
    done
}
# Each pause that took longer than it should, in milliseconds: a loop that wants a processor 20 times a second.
machine_pulse() {
    local before now fd
    machine_let_go
    exec {fd}<> <(:)
    while :; do
        before=${EPOCHREALTIME/[.,]/}
        read -rt 0.05 -u "$fd" _
        now=${EPOCHREALTIME/[.,]/}
        ((now - before > 150000)) && echo $(((now - before) / 1000 - 50))
    done
}
# Of one block.
machine_sync() { dd if=/dev/zero of="$WORK/block" bs=512 count=1 conv=nocreat,notrunc,fdatasync 2>/dev/null; }
# Each sync that took long, in milliseconds: four a second.
machine_syncs() {
    local before now fd
    machine_let_go
    exec {fd}<> <(:)
    while :; do
        before=${EPOCHREALTIME/[.,]/}
        machine_sync
        now=${EPOCHREALTIME/[.,]/}
        ((now - before > 150000)) && echo $(((now - before) / 1000))
        read -rt 0.25 -u "$fd" _
    done
}

machine_watch() {
    if [[ -z $(pid_of pulse) ]]; then # what they say is appended to: each watch empties it
        : >"$WORK/block"
        machine_pulse >>"$WORK/pulse" 2>/dev/null &
        PIDS[pulse]=$!
        machine_syncs >>"$WORK/syncs" 2>/dev/null &
        PIDS[syncs]=$!
    fi
    : >"$WORK/pulse"
    : >"$WORK/syncs"
    MACHINE_BEGUN=$(machine_ticks)
}

machine_longest() { sort -n "$@" | awk 'END { print $1 + 0 }'; }
machine_still_ms() { machine_longest "$WORK/pulse" "$WORK/syncs"; }
machine_was_elsewhere() {
    local all busy ours all_now busy_now ours_now others still sync
    read -r all busy ours <<<"$MACHINE_BEGUN"
    read -r all_now busy_now ours_now < <(machine_ticks)
    others=$((100 * (busy_now - busy - (ours_now - ours)) / (all_now > all ? all_now - all : 1)))
    still=$(machine_longest "$WORK/pulse") sync=$(machine_longest "$WORK/syncs")
    MACHINE_WHY="others had $others % of the processors, for $still ms nobody was let run, and a sync took $sync ms at most"
    ((others > MACHINE_OTHERS_PERCENT || still > MACHINE_STILL_MS || sync > MACHINE_SYNC_MS))
}

at_most() {
    if (($2 <= $3)); then ok
    elif machine_was_elsewhere; then skip "$1: $2 ${4:-ms}, more than $3, and says nothing: $MACHINE_WHY"
    else bad "$1: $2 ${4:-ms}, at most $3 ($MACHINE_WHY)"; fi
}

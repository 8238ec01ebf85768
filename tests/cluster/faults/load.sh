# Sourced after processes.sh: checked load around a scenario's faults.
#
#   load_begin NAME              a table of its own, a writer for each of its keys, readers on every host
#   event TEXT...                into the history: "fault NAME KEYS", "healed"
#   keys_of SERVER               first letters of the keys that it serves
#   load_stop NAME...            ends these before the others; what they have seen is checked with the rest
#   load_end CHECK-OPTION...     stops, reads all once more, checks; adds to PASSED and FAILED
KEYS=24 # two a tablet
PAUSE_MS=4 # of each of its threads after each operation
SPLITS=c,e,g,i,k,m,o,q,s,u,w
HISTORY='' TABLE='' LOADS=() FILES=() # running; what those that have ended left

event() {
    local up
    read -r up _ </proc/uptime
    echo "E $(awk "BEGIN { printf \"%.0f\", $up * 1e9 }") $*" >>"$HISTORY/events"
}

# load_start HOST NAME MODE THREADS [KEYS [PAUSE_MS [FIRST]]]: one process of the load.
load_start() {
    local host=$1 name=$2
    : >"$HISTORY/$name.out"
    EDUBBA_MASTERS=$CLIENT_MASTERS nsenter "--net=/run/netns/$(namespace_of "$host")" "$FAULTS_BUILD/history_load" \
        "$TABLE" "$HISTORY/$name" "$3" "${5:-$KEYS}" 100000 "$4" "${6:-$PAUSE_MS}" "${7:-0}" >"$HISTORY/$name.out" 2>&1 </dev/null &
    PIDS[load-$name]=$!
    LOADS+=("$name")
}
loads_ready() {
    local name
    for name in "${LOADS[@]}"; do
        until grep -q READY "$HISTORY/$name.out"; do
            kill -0 "${PIDS[load-$name]}" 2>/dev/null || { bad "$TABLE: the load $name: $(tail -n 2 "$HISTORY/$name.out")"; return 1; }
            sleep 0.02
        done
    done
}
load_begin() {
    local host
    TABLE=$1-$SECONDS HISTORY=$WORK/history-$1-$SECONDS LOADS=() FILES=()
    mkdir -p "$HISTORY"
    : >"$HISTORY/events"
    ebt createtable "$TABLE" "families=p,s::intsum" ${SPLITS:+"splits=$SPLITS"} || { bad "$1: createtable"; return 1; }
    load_start 0 writes write 0
    for ((host = 0; host <= HOSTS_MAX; host++)); do load_start $host "reads$host" read 2; done
    loads_ready && wait_whole || return 1 # else a change of a new table is under way when the fault comes
    machine_watch
    sleep 1
}

keys_of() {
    ebt --json tablets "$TABLE" | "$(dirname "${BASH_SOURCE[0]}")/keys_of.py" "$(address_of "${1#server}"):7401"
}

load_stop() {
    local name
    for name in "$@"; do
        kill -TERM "${PIDS[load-$name]}" 2>/dev/null || bad "$TABLE: the load $name has ended early: $(tail -n 2 "$HISTORY/$name.out")"
    done
    for name in "$@"; do
        wait "${PIDS[load-$name]}" || bad "$TABLE: the load $name: $(tail -n 2 "$HISTORY/$name.out")"
        load_forget "$name"
    done
}
# Of one that has ended.
load_forget() {
    local name left=()
    unset "PIDS[load-$1]"
    for name in "${LOADS[@]}"; do [[ $name == "$1" ]] || left+=("$name"); done
    LOADS=("${left[@]}") FILES+=("$HISTORY/$1")
}

load_end() {
    local files status=0 out=$HISTORY/check
    load_stop "${LOADS[@]}"
    files=("$HISTORY/events" "${FILES[@]}")
    EDUBBA_MASTERS=$CLIENT_MASTERS on 0 "$FAULTS_BUILD/history_load" "$TABLE" "$HISTORY/final" final $KEYS 60 >"$HISTORY/final.out" 2>&1 ||
        bad "$TABLE: the last reading: $(tail -n 2 "$HISTORY/final.out")"
    machine_was_elsewhere && set -- "$@" --elsewhere "$MACHINE_WHY" # gaps then say nothing of us
    set -- "$@" --still-ms "$(machine_still_ms)"
    "$(dirname "${BASH_SOURCE[0]}")/check_history.py" "$@" "${files[@]}" "$HISTORY/final" >"$out" 2>&1 || status=$?
    grep -vE '^[0-9]+ passed' "$out" | sed 's/^/    /'
    SKIPPED=$((SKIPPED + $(grep -c '^skipped: ' "$out")))
    if [[ $(tail -n 1 "$out") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        PASSED=$((PASSED + BASH_REMATCH[1])) FAILED=$((FAILED + BASH_REMATCH[2]))
        ((BASH_REMATCH[2] == 0)) || grep -ah '^S ' "${files[@]}" | sort | uniq -c | sort -rn | head -n 5 | sed 's/^/    /'
    else
        bad "$TABLE: the check ended with $status"
    fi
    ((status == 0)) && { ebt deletetable "$TABLE" || bad "$TABLE: deletetable"; rm -rf "$HISTORY"; }
}

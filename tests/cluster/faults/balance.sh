# Sourced after scenarios.sh: the scenarios kill_balance and kill_decided.  The master splits, moves and merges because of
# load; each time that it has begun to, somebody who has a part in it is killed.
#
# In a round: heat on few keys, until a split has begun and then until a move (or a hand-over) has; no heat, until a
# merge has.  Who is killed goes round, so four rounds show each with each:
#   holder   the server that holds the tablet          master   the active one
#   target   the one that it goes to (of a split and   client   one that reads; and the connections of the
#            a merge: one that does not hold it)                host where the writers are are reset
# Decisions come after seconds, and a tablet is soon enough hot: what is decided is decided as ever.
BALANCE_MASTER=(balance.split_percent=2 "balance.split_after=2 s" "balance.split_after_far=1 s" "balance.split_pause=2 s"
    balance.observations_min=20 "balance.merge_after=1 s" "balance.merge_after_split=1 s" balance.imbalance_percent=10
    "balance.imbalance_after=2 s" "balance.imbalance_after_far=1 s" balance.impact_permille=5 balance.idle_percent=0
    "balance.move_pause=2 s")
PARTIES=(holder target master client)
HEAT_KEYS=6          # that are neighbours
DECIDE_SECONDS=180   # until something is decided
OUTCOME_SECONDS=190  # the master gives up what takes longer than 180 s
SERVE_SECONDS=15     # until all rows are read, when all are back

# --- heat -----------------------------------------------------------------------------------------
HEAT_COUNT=0 HEATING=()
heat_on() {
    local first=$((RANDOM % (KEYS - HEAT_KEYS + 1)))
    HEAT_COUNT=$((HEAT_COUNT + 1))
    HEATING=("reading$HEAT_COUNT" "adding$HEAT_COUNT")
    load_start 0 "reading$HEAT_COUNT" read 16 $HEAT_KEYS 2 $first
    load_start 0 "adding$HEAT_COUNT" add 4 $HEAT_KEYS 10 $first
    loads_ready
}
heat_off() {
    load_stop "${HEATING[@]}"
    HEATING=()
}

# To other keys: what was balanced before is not with these.
heat_shift() { heat_off && heat_on; }

# --- events ---------------------------------------------------------------------------------------
events() { ebt --json --timeout 20 events "$TABLE" 2>/dev/null; }
# field NAME: of each line on stdin the first of that name; numbers and words.
field() { awk -v name="\"$1\":" 'at = index($0, name) { split(substr($0, at + length(name)), words, /[",}]+/); print words[words[1] == "" ? 2 : 1] }'; }
newest_event() { events | field number | sort -n | tail -n 1; }
# event_after NUMBER KINDS [OUTCOMES]: the newest such event; of kinds as 'move|lead'.
event_after() {
    events | grep -E "\"kind\":\"($2)\".*\"outcome\":\"(${3:-under_way|done|given_up})\"" |
        awk -F'[:,]' -v after="$1" '$2 > after' | tail -n 1
}
# wait_event NUMBER KINDS [OUTCOMES]: sets EVENT.  Where all is balanced already other heat is put on.
wait_event() {
    local begun=$SECONDS shifted=$SECONDS
    until EVENT=$(event_after "$@") && [[ -n $EVENT ]]; do
        ((SECONDS - begun < DECIDE_SECONDS)) || { bad "no $2 (${3:-of any outcome}) in $DECIDE_SECONDS s"; ebt tablets "$TABLE"; events_keep; return 1; }
        if ((${#HEATING[@]} > 0 && SECONDS - shifted >= 8)); then
            shifted=$SECONDS
            heat_shift
        fi
        sleep 0.05
    done
}
# Of those up to NUMBER.  A master that was killed takes its events along; what it had begun is seen in the tablets.
open_events() { events | grep '"outcome":"under_way"' | awk -F'[:,]' -v last="$1" '$2 <= last'; }
# Tablets that are not as they are wanted.
unmet() { ebt --json --timeout 20 tablets "$TABLE" | grep -E '"goal":|"wanted":false|"role":"learner"' | field tablet | sort; }
# still LIST: which of these are so yet
still() { comm -12 <(unmet) - <<<"$1"; }
wait_outcomes() {
    local begun=$SECONDS wished
    wished=$(unmet)
    until events >/dev/null && [[ -z $(open_events "$1") ]] && wished=$(still "$wished") && [[ -z $wished ]]; do
        ((SECONDS - begun < OUTCOME_SECONDS)) || {
            bad "no outcome in $OUTCOME_SECONDS s: $(open_events "$1"); tablets ${wished//$'\n'/ }"
            ebt tablets "$TABLE"
            return 1
        }
        sleep 0.2
    done
    ok
    OUTCOME_SLOWEST=$((SECONDS - begun > OUTCOME_SLOWEST ? SECONDS - begun : OUTCOME_SLOWEST))
}
# For whoever looks for what went wrong.
events_keep() { ebt --timeout 5 events "$TABLE" >"$HISTORY/decided-$STRUCK" 2>&1; }
# What tiles.py says of the tablets; one that is handed over just now has no server for a moment.
tiling() {
    local begun=$SECONDS said
    while said=$(ebt --json --timeout 20 tablets "$TABLE" | "$(dirname "${BASH_SOURCE[0]}")/tiles.py"); do
        [[ $said == *"has no server"* ]] && ((SECONDS - begun < SERVE_SECONDS)) || break
        sleep 0.2
    done
    echo "$said"
}

# --- parties --------------------------------------------------------------------------------------
declare -A SERVER_NAMES=() # by the master's number of them
servers_learn() {
    local n
    for ((n = 1; n <= HOSTS_MAX; n++)); do
        SERVER_NAMES[$(ebt --json servers | grep -F "//$(address_of $n):7401" | field server)]=server$n
    done
}
# holder_of EVENT: the server that holds the event's tablet, or what has come of it.
holder_of() {
    local number
    number=$(field from <<<"$1")
    [[ -n ${SERVER_NAMES[${number:-0}]:-} ]] ||
        number=$(ebt --json tablets "$TABLE" | grep "\"tablet\":\"$(field tablet <<<"$1")\"" | field server)
    echo "${SERVER_NAMES[${number:-0}]:-server1}"
}
target_of() {
    local number name
    number=$(field to <<<"$1")
    name=${SERVER_NAMES[${number:-0}]:-}
    while [[ -z $name || $name == "$(holder_of "$1")" ]]; do name=$(random_server); done
    echo "$name"
}
# A process ends in the midst of its reading; the connections of the writers are reset, with what is on them.
kill_client() {
    local name=${HEATING[0]:-}
    network_reset 0 7401
    if [[ -n $name ]]; then
        kill_hard "load-$name"
        load_forget "$name"
        HEATING=("${HEATING[@]:1}")
    fi
    sleep 0.3
    network_heal
}
# kill_party PARTY EVENT: and it is started again, and all are there.
kill_party() {
    local name
    case $1 in
        holder) name=$(holder_of "$2") ;;
        target) name=$(target_of "$2") ;;
        master) name=master$(active_master) ;;
        client) kill_client; return ;;
    esac
    [[ -n ${PIDS[$name]:-} ]] || { bad "$1: there is no $name"; return 1; }
    kill_hard "$name"
    missed
    start "$name" || { bad "$name does not come back"; return 1; }
}

# --- rounds ---------------------------------------------------------------------------------------
# strike ROUND KINDS PARTY NUMBER: at a random moment after such an event above NUMBER has begun.
strike() {
    local what="round $1: $2, $3" begun number
    wait_event "$4" "$2" || return 1
    number=$(field number <<<"$EVENT")
    sleep_ms $((RANDOM % 700))
    event fault "$(field kind <<<"$EVENT")_$3" "*"
    STRUCK=$((STRUCK + 1))
    [[ -z $(open_events "$number" | grep "\"number\":$number,") ]] || MIDST=$((MIDST + 1))
    events_keep
    kill_party "$3" "$EVENT" || return 1
    wait_whole || return 1
    begun=$SECONDS
    says "$what: all rows are served" 0 "(^|[^0-9])$KEYS([^0-9]|\$)" ebt --timeout 60 count "$TABLE"
    at_most "$what: served" $((SECONDS - begun)) $SERVE_SECONDS s
    event healed
    wait_outcomes "$(newest_event)" || return 1
    same "$what: no tablet is lost, none overlaps" "$(tiling)" whole
}
balance_round() {
    local round=$1 turn=$(((BALANCE_TURN + $1) % 4)) last
    last=$(newest_event)
    heat_on && strike "$round" split "${PARTIES[turn]}" "${last:-0}" || return 1
    # Whoever was struck, what is hot now is balanced: also by the next master, and by the server that came back.
    last=$(newest_event)
    ((${#HEATING[@]} == 2)) || heat_shift # half of it was struck
    strike "$round" "move|lead" "${PARTIES[(turn + 1) % 4]}" "${last:-0}" || return 1
    heat_off
    last=$(newest_event)
    strike "$round" merge "${PARTIES[(turn + 2) % 4]}" "${last:-0}"
}
# Whatever came of it: what is hot is split and spread.
balance_goes_on() {
    local last
    last=$(newest_event)
    heat_on
    wait_event "${last:-0}" split "done" && ok
    wait_event "${last:-0}" "move|lead" "done" && ok
    wait_outcomes "$(newest_event)"
    same "in the end no tablet is lost, none overlaps" "$(tiling)" whole
}
kill_balance_rounds() {
    # One tablet: boundaries that a person asked for would not be merged.  The writers alone are no heat.
    local round SPLITS='' PAUSE_MS=500
    STRUCK=0 MIDST=0 OUTCOME_SLOWEST=0 HEATING=() BALANCE_TURN=$((RANDOM % 4))
    servers_learn
    load_begin kill_balance || return
    for ((round = 1; round <= $1; round++)); do balance_round $round || return; done
    balance_goes_on
    echo "    $MIDST of $STRUCK were killed before the outcome; the slowest outcome came $OUTCOME_SLOWEST s after all were back"
    (($1 < 3 || MIDST > 0)) || bad "not one was killed before the outcome: the scenario shows nothing"
    load_end --within $SERVE_SECONDS --gap-p99 $((SERVE_SECONDS * 1000)) --at-least $((200 * $1))
}
# One of what a round has three of, with any of the four: of what is decided soonest, so that it takes half a minute.
kill_decided_rounds() {
    local round kinds last SPLITS='' PAUSE_MS=500
    STRUCK=0 MIDST=0 OUTCOME_SLOWEST=0 HEATING=()
    servers_learn
    load_begin kill_decided || return
    for ((round = 1; round <= $1; round++)); do
        kinds=split
        ((RANDOM % 2 == 0)) || kinds="move|lead"
        last=$(newest_event)
        heat_on && strike "$round" "$kinds" "${PARTIES[RANDOM % 4]}" "${last:-0}" || return
        heat_off
    done
    echo "    $MIDST of $STRUCK were killed before the outcome; the slowest outcome came $OUTCOME_SLOWEST s after all were back"
    load_end --within $SERVE_SECONDS --gap-p99 $((SERVE_SECONDS * 1000)) --at-least $((100 * $1))
}
# balanced RUN ROUNDS: by a master that decides soon.
balanced() {
    MASTER_MORE=("${BALANCE_MASTER[@]}") SERVER_MORE=(replicate=true)
    cluster_fresh && "$1" "$2"
    MASTER_MORE=() SERVER_MORE=() CLUSTER_STALE=1
}
kill_balance() { balanced kill_balance_rounds "$1"; }
kill_decided() { balanced kill_decided_rounds "$1"; }

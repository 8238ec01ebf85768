#!/usr/bin/env bash
# A hot range on real servers is split, and its parts are spread, while not a request fails; when the load
# stays as it is nothing is moved any more; `ebt events` tells all of it; a pinned table is left alone.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"

# A tablet of this machine's share of time is soon enough hot here; what is decided is decided as ever.
start_master balance.split_percent=2 "balance.split_after=2 s" "balance.split_after_far=2 s" \
    "balance.split_pause=5 s" balance.imbalance_percent=30 "balance.imbalance_after=15 s" \
    "balance.imbalance_after_far=2 s" balance.idle_percent=1 "balance.move_pause=5 s" \
    balance.impact_permille=50 || exit 1
for n in 1 2 3; do start_server $n replicate=true || exit 1; done
alive() { ebt --json servers 2>/dev/null | grep -c '"alive":true'; }
for _ in $(seq 1200); do [[ $(alive) -ge 3 ]] && break; sleep 0.05; done
same "servers" "$(alive)" 3

# run TABLE SECONDS: reads of all its rows at a steady rate; what failed of them
run() {
    "$BUILD/client/load/edubba-load" --quiet run read --table "$1" --records 20000 --rate 6000 --duration "$2" \
        --fail-on-errors >"$WORK/load" 2>"$WORK/errors" || { bad "reads of $1 failed"; cat "$WORK/load" "$WORK/errors"; }
}
tablets() { ebt --json tablets "$1" | grep -c '"tablet":'; }
holders() { ebt --json tablets "$1" | sed -nE 's/.*"end":[^,]*,"server":"([0-9]+)".*/\1/p' | sort -u | wc -l; }
events() { ebt --json events "$@"; }

says "nothing was decided" 0 'nothing was decided about load' ebt events
says "no events of a table that is not there" 1 'NOT_FOUND' ebt --json events NOWHERE
says "a word that is no table" 2 'follow=true' ebt events foo=bar
"$BUILD/client/load/edubba-load" --quiet load read --table T --records 20000 >/dev/null || bad "load"
"$BUILD/client/load/edubba-load" --quiet load read --table PINNED --records 20000 >/dev/null || bad "load"
ebt pin PINNED on
for _ in $(seq 600); do events PINNED | grep -q '"outcome":"under_way"' || break; sleep 0.1; done
pinned_events="said: $(events PINNED)"
says "it is shown" 0 'pinned' ebt ls PINNED
pinned_tablets=$(tablets PINNED) # loading it was a load, too

for _ in $(seq 6); do
    run T 10
    [[ $(tablets T) -ge 4 && $(holders T) -ge 3 ]] && break
done
same "it is split" "$(($(tablets T) >= 4))" 1
same "and spread" "$(($(holders T) >= 3))" 1
same "splits are told" "$(($(events T | grep -c '"kind":"split","reason":"\(hot\|far_over\)","outcome":"done"') >= 1))" 1
same "moves are told" "$(($(events T | grep -c '"kind":"move","reason":"imbalance","outcome":"done"') >= 1))" 1
says "with their numbers" 0 "split +(hot|far_over) +done .* T [0-9]+ .* % of its server's time \(limit 2 %\)" ebt events T
says "under a heading" 0 "^WHEN +WHAT +REASON" ebt events T
says "moves by address" 0 "move +imbalance .* T [0-9]+ tcp://127.0.0.1:[0-9]+ -> tcp://127.0.0.1:[0-9]+ " ebt events T

# --- it comes to rest -----------------------------------------------------------------------------
rest() { events T | grep -cE '"kind":"(move|lead)"'; }
before=-1
for _ in $(seq 8); do
    run T 15
    [[ $(rest) == "$before" ]] && break
    before=$(rest)
done
same "load that stays moves nothing" "$(rest)" "$before"
same "nothing was given up" "$(events T | grep -c '"outcome":"given_up"')" 0

# --- what is pinned -------------------------------------------------------------------------------
run PINNED 10
same "a pinned table stays as it is" "$(tablets PINNED)" "$pinned_tablets"
same "and nothing is said of it" "said: $(events PINNED)" "$pinned_events"
same "all rows are there" "$(ebt --json count T | tr -dc 0-9)" 20000
finish

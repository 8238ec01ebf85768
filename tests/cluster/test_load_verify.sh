#!/usr/bin/env bash
# Is edubba-load right about what it read: cells and sizes with --verify, rows that are not there, scans cut off?
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
cluster_begin 1
LOAD=${LOAD:-$BUILD/client/load/edubba-load}
load() { "$LOAD" --quiet "$@"; }
# field NAME: a number out of the JSON report
field() { tail -n 1 "$WORK/report" | grep -oE "\"$1\":[0-9.]+" | head -n 1 | cut -d: -f2; }
# report ARGUMENTS...: run, with the report kept as JSON
report() { load "$@" --format json >"$WORK/report" 2>"$WORK/errors"; }

# --- cells that are not there, and more than there should be ----------------------------------------
CELLS=(--table CELLS --records 50 --fields 12 --value-size 20)
load load ycsb-c "${CELLS[@]}" >"$WORK/report" || bad "load: $(<"$WORK/report")"
says "all cells of rows with many fields" 0 'verified    600 values: all right' load run scan --keys hashed "${CELLS[@]}" --verify
row=$(ebt read CELLS count=1 keys-only=true 2>/dev/null | grep -oE 'user[0-9]+' | head -n 1)
ebt deletecolumn CELLS "$row" data field7 || bad "deletecolumn"
says "a cell that is gone, scanned" 1 "verified    1 of 600 values are WRONG; the first: row $row, column field7: not there, expected 20 bytes" \
    load run scan --keys hashed "${CELLS[@]}" --verify
says "a cell that is gone, read" 1 "values are WRONG; the first: row $row, column field7: not there" \
    load run ycsb-c --distribution sequential --operations 50 "${CELLS[@]}" --verify
says "a cell that is gone, read before a row is changed" 1 'values are WRONG' \
    load run ycsb-f --distribution sequential --operations 50 "${CELLS[@]}" --verify
says "a cell that is gone, not looked at" 0 '' load run scan --keys hashed "${CELLS[@]}"
says "fewer fields than were loaded" 1 'column field11: there, expected are 11 other columns' \
    load run scan --keys hashed "${CELLS[@]}" --fields 11 --verify
says "one field of them" 0 'verified    50 values: all right' \
    load run ycsb-c --distribution sequential --operations 50 "${CELLS[@]}" --one-field --verify

# --- sizes -----------------------------------------------------------------------------------------
says "a wrong size, scanned" 1 '600 of 600 values are WRONG; the first: row user[0-9]+, column field0: 20 bytes, expected 1000' \
    load run scan --keys hashed --table CELLS --records 50 --fields 12 --value-size 1000 --verify
says "a wrong size, read" 1 'are WRONG; the first: .*: 20 bytes, expected 10$' \
    load run ycsb-c --operations 50 --table CELLS --records 50 --fields 12 --value-size 10 --verify
report run ycsb-c --operations 50 --table CELLS --records 50 --fields 12 --value-size 10 --verify
same "as JSON" "$(tail -n 1 "$WORK/report" | python3 -c '
import json, sys
verify = json.loads(sys.stdin.read())["verify"]
print(verify["good"], verify["values_wrong"] > 0, verify["first_wrong"].endswith("20 bytes, expected 10"))')" "False True True"
load load ycsb-a --table LIVE --records 20 >"$WORK/report" || bad "load: $(<"$WORK/report")"
says "rows that change meanwhile are whole all the time" 0 'values: all right' load run ycsb-a --table LIVE --records 20 --duration 1 --verify
load load read --table ONE --records 10 --value-size 100 >"$WORK/report" || bad "load: $(<"$WORK/report")"
ebt set ONE 0000000000000004 data:field0=
says "a value cut to nothing" 1 '1 of 10 values are WRONG; the first: row 0000000000000004, column field0: 0 bytes, expected 100' \
    load run scan --table ONE --records 10 --value-size 100 --verify
load load ycsb-a --table HALF --records 100 >"$WORK/report" || bad "load: $(<"$WORK/report")"
says "updates of rows that are not there make rows that are not whole" 1 'are WRONG; the first: .*not there' \
    load run ycsb-f --table HALF --records 200 --operations 2000 --verify

# --- rows that are not there -----------------------------------------------------------------------
report run read --table ONE --records 30 --value-size 100 --operations 3000; status=$?
same "missing rows alone do not fail a run without --verify" $status 0
missing=$(field missing)
same "the missing are counted, $missing" $((missing > 0 && missing + $(field rows) == 3000)) 1
same "what is warned of, as JSON" "$(python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["warning"][:len(sys.argv[1])])' "$missing of 3000 rows" <"$WORK/errors")" \
    "$missing of 3000 rows"
says "a warning" 0 'warning: [0-9]+ of 3000 rows that were looked for are not in table ONE' \
    load run read --table ONE --records 30 --value-size 100 --operations 3000
same "they stand below the rates" "$(load run read --table ONE --records 30 --value-size 100 --operations 3000 2>/dev/null |
    grep -A 1 '^  rows ' | grep -cE '^  missing +[0-9]+ rows of 3000')" 1
says "in each interval" 0 ' s .* missing' load run read --table ONE --records 30 --value-size 100 --duration 0.5 --interval 0.1
same "no warning where all is there" "$(load run read --table ONE --records 10 --operations 100 2>&1 | grep -c 'warning')" 0
load load read --table MORE --records 20 --value-size 100 >"$WORK/report" || bad "load: $(<"$WORK/report")"
ebt deleterow MORE 0000000000000005
says "a row that others than those asked for do not stand for" 1 'missing +1 rows of 20' \
    load run scan --table MORE --records 10 --value-size 100 --verify
says "rows that short scans begin at" 0 'warning: [0-9]+ of [0-9]+ rows that were looked for are not in table MORE' \
    load run scan --table MORE --records 20 --value-size 100 --scan-rows 1 --operations 500
report run scan --table MORE --records 5 --value-size 100 --scan-rows 10 --operations 200 --verify || bad "short scans: $(<"$WORK/errors")"
same "those that are there are not missing" "$(field missing)" 0
load write --table NONE --records 10 --operations 10 --keys ordered >"$WORK/report"
says "short scans of a table without the rows" 1 'not one of the rows' \
    load run scan --table NONE --keys hashed --scan-rows 5 --operations 20
says "a run that loads, and finds all of it" 0 'operations  100' load read --table LOADED --records 10 --operations 100

# --- rows that were not loaded -----------------------------------------------------------------------
# The server stands still for longer than the load waits for a row, once it has begun.
loaded() { for _ in $(seq 600); do (($(ebt --timeout 1 count HOLES 2>/dev/null) > 0)) && break; sleep 0.02; done; }
stall() { loaded; kill -STOP "$(pid_of server1)"; sleep 2; kill -CONT "$(pid_of server1)"; }
with_holes() {
    local status=0
    load drop --table HOLES >"$WORK/report" 2>&1
    load write --table HOLES --operations 1 >"$WORK/report" && ebt deleteallrows HOLES
    { stall; } 2>/dev/null &
    load load write --table HOLES --records 1M --value-size 100 --timeout 0.5 || status=$?
    wait $!
    return $status
}
says_again "a load of which some rows failed" 1 'of 1000000 rows were not loaded, or may not be; the first error: ' with_holes

# --- scans that are under way at the end --------------------------------------------------------------
ROWS=(--table MANY --records 20000 --value-size 100)
load load scan "${ROWS[@]}" >"$WORK/report" || bad "load: $(<"$WORK/report")"
report run scan "${ROWS[@]}" --operations 1M --in-flight 4 --duration 0.5 --verify || bad "scans: $(<"$WORK/errors")"
same "scans that were cut off are told" $(($(field cut_off) >= 1 && $(field cut_off) <= 4)) 1
same "and are no operations, nor timed" "$(field operations)" "$(field requests)"
same "rows of the time count" $(($(field rows) >= $(field operations) * 20000)) 1
same "nothing is missing of them" "$(field missing)" 0
says "in text" 0 'cut off +[1-4] scans at the end' load run scan "${ROWS[@]}" --operations 1M --in-flight 4 --duration 0.5
says "one that ends is not cut off" 0 'operations  2 ' load run scan "${ROWS[@]}" --operations 2
report run scan "${ROWS[@]}" --scan-rows 5000 --in-flight 16 --duration 0.5 --operations 1M || bad "short scans: $(<"$WORK/errors")"
same "short ones are waited for" "$(field cut_off) $(field requests)" "0 $(field operations)"
finish

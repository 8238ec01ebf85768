#!/usr/bin/env bash
# edubba-load against real processes: every workload in a tiny form, what it verifies, what it refuses.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
cluster_begin 2
LOAD=${LOAD:-$BUILD/client/load/edubba-load}
load() { "$LOAD" --quiet "$@"; }
# field NAME: a number out of the last JSON report
field() { tail -n 1 "$WORK/report" | grep -oE "\"$1\":[0-9.]+" | head -n 1 | cut -d: -f2; }
# report ARGUMENTS...: run, with the report kept as JSON
report() { load "$@" --format json >"$WORK/report" 2>"$WORK/errors"; }
# Has a run with --interval told of operations?  (In its first interval there need not be any: a sync may take seconds.)
has_told() { grep -qE '[1-9][0-9]* operations/s|"operations":[1-9]' "$WORK/report"; }
# during COMMAND...: beside the next run that has --interval, once it has done something; or a minute later, if it never does.
during() {
    : >"$WORK/report"
    { for _ in $(seq 3000); do has_told && break; sleep 0.02; done; "$@"; } 2>/dev/null &
}

# --- every workload -----------------------------------------------------------------------------
for name in $("$LOAD" --words | grep -E '^ycsb-'); do
    says "$name" 0 'values: all right' load "$name" --table YCSB --records 500 --operations 400 --verify
done
for name in random-write sequential-write random-read random-read-memory sequential-read paper-scan write read scan; do
    operations=300; [[ $name == *scan ]] && operations=2
    report load "$name" --table "P-$name" --records 300 --presplit 3 || bad "load $name: $(cat "$WORK/errors")"
    report run "$name" --table "P-$name" --records 300 --operations $operations --verify || bad "run $name: $(cat "$WORK/errors")"
    same "operations of $name" "$(field operations)" $operations
    same "errors of $name" "$(field errors)" 0
    same "missing of $name" "$(field missing)" 0
done
same "presplit" "$(ebt --json tablets P-read | wc -l)" 3
same "rows that the load phase wrote" "$(ebt count P-read)" 300
same "rows of ycsb, inserts besides" "$(($(ebt count YCSB) > 500))" 1

# --- adds are exact -------------------------------------------------------------------------------
says "add to one cell" 0 'verified +1 sums: all exact' load add --operations 500 --verify
says "add to many, zipfian, several clients" 0 'verified +50 sums: all exact' \
    load add --records 50 --distribution zipfian --clients 4 --in-flight 3 --operations 500 --verify
same "their total" "$(ebt lookup LOAD 'sum#000000000000' columns=sum:n | grep -cE '^    [0-9]+$')" 1
says "batches of adds" 0 'all exact' load add --records 10 --batch 20 --operations 200 --verify

# --- batches, series, threads, rate, time -----------------------------------------------------------
report write --table S --keys series --hosts 10 --distribution sequential --fields 5 --value-size 8 --batch 7 --operations 200 ||
    bad "series: $(cat "$WORK/errors")"
same "rows in batches" "$(field operations) $(field requests)" "200 29"
same "rows of series" "$(ebt count S) $(ebt count S prefix=server1.bbb.com#)" "200 20"
says "series, verified" 0 '1000 values: all right' load run scan --table S --keys series --hosts 10 --fields 5 --value-size 8 --records 200 --verify
says "series, single rows" 0 'all right' load run read --table S --keys series --hosts 10 --fields 5 --value-size 8 --records 200 --operations 100 --verify
report run read --table P-read --records 300 --clients 2 --threads 2 --operations 300 --verify || bad "threads: $(cat "$WORK/errors")"
same "operations by threads" "$(field operations)" 300
report run read --table P-read --records 300 --rate 1000 --duration 0.5 --one-field || bad "rate: $(cat "$WORK/errors")"
rate=$(field operations_per_s)
same "1 000 a second, not $rate" $((${rate%.*} > 50 && ${rate%.*} < 1020)) 1
report run read --table P-read --records 300 --duration 1.5 --warmup 0.2 --interval 0.2 || bad "interval"
count=$(grep -c '^{"interval"' "$WORK/report")
same "reports of intervals, $count" $((count >= 2 && count <= 20)) 1 # requests in flight at the end may take some more
says "csv" 0 '^read,run,all,.*,read,' load run read --table P-read --records 300 --operations 100 --format csv
says "never-read" 0 'operations  100' load run read --table P-read --records 300 --operations 100 --never-read 3
says "reports are JSON" 0 '' python3 -c "import json; [json.loads(l) for l in open('$WORK/report')]"
load run read --table P-read --records 300 --operations 10 --output "$WORK/text" && grep -q 'read run on P-read' "$WORK/text" && ok || bad "--output"
# sent PID: bytes that each connection of that process has sent, the most first.
sent() {
    ss -tinpH state established | awk -v pid="pid=$1," 'index($0, pid) { ours = 1; next }
        ours && match($0, /bytes_sent:[0-9]+/) { print substr($0, RSTART + 11, RLENGTH - 11) }
        { ours = 0 }' | sort -rn
}
"$LOAD" --quiet run read --table P-read --records 300 --clients 4 --rate 1000 --duration 60 --output /dev/null & loading=$!
for _ in $(seq 300); do
    mapfile -t bytes < <(sent $loading)
    ((${bytes[0]:-0} > 20000)) && break
    sleep 0.1
done
kill -INT $loading; wait $loading
same "in the open loop, too, clients take turns: with two servers each ${bytes[*]:0:8}" $((${bytes[7]:-0} * 4 > ${bytes[0]:-0})) 1
says "late requests are counted" 0 'late' load write --table P-write --rate 200000 --in-flight 1 --late-max 0.01 --duration 0.3
report run read --table P-read --records 300 --rate 1000000 --in-flight 1 --duration 0.3 || bad "far too high a rate: $(cat "$WORK/errors")"
due=$(($(field operations) + $(field late)))
same "all that was due is counted, $due" $((due > 280000 && due <= 300001)) 1
machine_watch
before=$SECONDS
says "a low rate ends in time" 0 'operations  1' load run read --table P-read --records 300 --rate 0.1 --duration 0.5
at_most "which takes" $((SECONDS - before)) 8 s # the next would be due at the tenth

says "connections" 0 'operations  100' load run read --table P-read --records 300 --operations 100 --connections 4 --messages 1
stall() { kill -STOP "$(pid_of server1)" "$(pid_of server2)"; sleep 1.6; kill -CONT "$(pid_of server1)" "$(pid_of server2)"; }
during stall
report run read --table P-read --records 300 --rate 500 --duration 4 --interval 0.2 || bad "stall: $(cat "$WORK/errors")"
wait $!
p90=$(field p90_us)
same "a stall of 1.6 s in 4 s is not hidden: p90 is $p90 us" $((${p90%.*} > 200000)) 1

# --- what it finds ------------------------------------------------------------------------------------
says "missing rows" 1 'missing +[0-9]+ rows' load run read --table P-read --records 600 --operations 300 --verify
says "missing rows in a scan" 1 'missing +1 rows' load run scan --table P-read --records 301 --verify
ebt set P-read 0000000000000123 data:field0=altered
says "an altered row, scanned" 1 '1 of 300 values are WRONG' load run scan --table P-read --records 300 --verify
says "an altered row, read" 1 'are WRONG' load run sequential-read --table P-read --records 300 --verify
says "an altered row, not looked at" 0 '' load run scan --table P-read --records 300
# (It may come too late, when the sums have been read for the last time.)
added_meanwhile() {
    local status=0
    during ebt addtocell LOAD 'sum#000000000000' sum:n=1@0
    load add --duration 5 --interval 0.1 --verify --output "$WORK/report" || status=$?
    wait $!
    cat "$WORK/report"
    return $status
}
says_again "somebody else's addition" 1 'WRONG: sum#000000000000 has grown by' added_meanwhile

# --- what it refuses ------------------------------------------------------------------------------------
ebt createtable OTHER families=data,precious; ebt set OTHER 0000000000000001 precious:v=1
says "a bad name of a table, before anything is dialled" 2 "table cannot be 'a b'" load write --table 'a b' --masters tcp://127.0.0.1:1
says "a duration without an end" 2 'at most 100000000$' load write --duration 1e300
says "a table with other families" 1 'FAILED_PRECONDITION.*not made by edubba-load' load write --table OTHER --operations 10
says "dropping one" 1 'FAILED_PRECONDITION' load drop --table OTHER
same "it is untouched" "$(ebt count OTHER)" 1
says "an unknown workload" 2 'ycsb-a meant' load ycsb-q
says "an unknown workload with a long name" 2 "no workload 'w{60}\.\.\.'" load "$(printf 'w%.0s' {1..300})"
says "a path that is too long" 1 '^edubba-load: /w{799}\.\.\.: File name too long' load write --output "/$(printf 'w%.0s' {1..5000})"
says "an unknown option" 2 'records meant' load write --recrods 5
says "an option that is near none" 2 "there is no option '--bogus'$" load write --bogus 5
says "too many in flight, before anything is taken" 2 "in-flight cannot be '10M'.* at most 1M$" \
    bash -c "ulimit -v 400000; '$LOAD' write --in-flight 10M"
says "too many in flight of all clients" 2 'in-flight 1000000 times --clients 10 is 10000000 .*at most 1M$' \
    load write --in-flight 1M --clients 10
says "too many tablets" 2 "presplit cannot be '1002'.* at most 1001$" load write --presplit 1002
says "no rate" 2 "rate cannot be '0'.*at least" load write --rate 0
says "an option that would do nothing" 2 'scan-rows would do nothing: write has no scans' load write --scan-rows 5
says "no address" 2 "masters.*'foo'|foo" load write --masters foo
says "options of the run while rows are loaded" 0 'without effect here: --rate, --duration$' \
    load load read --table P-read --records 300 --rate 5 --duration 1
says "the experiments, as JSON" 0 '^\[\{"name":"battery"' "$LOAD" lab --list --format json
says "no words" 2 'usage' load
says "help" 0 'workloads:' load help
for name in load run lab drop help; do
    says "help of $name" 0 "^usage: edubba-load $name" "$LOAD" help "$name"
    says "$name --help" 0 "^usage: edubba-load $name" "$LOAD" "$name" --help
done
for name in $("$LOAD" --words | grep -v -e '^--' -e '^load$' -e '^run$' -e '^drop$' -e '^lab$' -e '^help$'); do
    says "help of $name" 0 "^edubba-load $name -- " "$LOAD" help "$name"
    says "$name --help" 0 "^edubba-load $name -- " "$LOAD" "$name" --help
done
says "help of both" 0 '^edubba-load ycsb-e -- ' "$LOAD" run ycsb-e --records 5 -h
says "help of nothing" 2 "no workload 'ycsb-q'" "$LOAD" ycsb-q --help
says "help of no command" 0 '^workloads:' "$LOAD" --quiet --help
says "help of one" 0 'Needs rows' load help ycsb-e
says "man page" 0 '^\.TH' "$LOAD" --man
says_again "no cluster" 1 'UNAVAILABLE' load write --masters tcp://127.0.0.1:1 --timeout 1
begun=$SECONDS
says "no cluster: what to do" 1 'quickstart.*--masters' load write --masters tcp://127.0.0.1:1
same "it is not waited for long" $((SECONDS - begun < 40)) 1
says "run on a table that is not there" 1 'NOT_FOUND' load run read --table NX
says "what to do" 1 'edubba-load load read --table NX$' load run read --table NX
says "what to do" 1 'edubba-load add --table NX$' load run add --table NX
same "it is not made" "$(ebt ls | grep -c '^NX$')" 0
load write --table EMPTY --records 10 --operations 10 --keys ordered >"$WORK/report"
says "not one row is there" 1 'NOT_FOUND: not one of the rows' load run read --table EMPTY --keys hashed --operations 20
says "not one row is there, scanned" 1 'edubba-load load scan --table EMPTY' load run scan --table EMPTY --keys hashed --verify
# complains WHAT EXIT CODE ARGUMENTS...: nothing on stdout, one JSON object with code and message on stderr.
complains() {
    local what=$1 wanted=$2 code=$3 status=0 output
    shift 3
    output=$(load "$@" 2>"$WORK/stderr" </dev/null) || status=$?
    if [[ $status == "$wanted" && -z $output ]] && python3 -c '
import json, sys
said = json.loads(open(sys.argv[1]).read())
sys.exit(said["code"] != sys.argv[2] or not said["message"] or not set(said) <= {"code", "message", "hint"})' "$WORK/stderr" "$code"
    then ok; else bad "$what: exit $status (wanted $wanted): $(<"$WORK/stderr")"; fi
}
complains "no cluster, as JSON" 1 UNAVAILABLE write --masters tcp://127.0.0.1:1 --timeout 1 --format json
complains "no table, as JSON" 1 NOT_FOUND run read --table NX --format=json
complains "an unknown option, JSON asked for behind it" 2 USAGE write --bogus 1 --format json
complains "no words, as JSON" 2 USAGE --format json
complains "no folder for the output" 1 FILE write --format json --output /nonexistent/x

# --- what cannot be written, what fails ------------------------------------------------------------------
says "a full disk" 1 'report could not be written: No space' bash -c "'$LOAD' write --quiet --operations 10 >/dev/full"
says "a full disk, at the first interval" 1 'report could not be written: No space' \
    timeout 30 bash -c "'$LOAD' write --quiet --duration 60 --interval 0.1 >/dev/full"
says "a full disk, by name" 1 'report could not be written: No space' load write --operations 10 --output /dev/full
says "no stdout" 1 'report cannot be written: Bad file' bash -c "'$LOAD' write --quiet --operations 10 >&-"
says "help on a full disk" 1 'No space' bash -c "'$LOAD' help >/dev/full"
# Once its table is written to, and while it still warms up.  (The table may go too late.)
goes() { for _ in $(seq 600); do (($(ebt count GOES) > 10)) && break; sleep 0.05; done; ebt deletetable GOES; }
deleted_meanwhile() {
    local status=0
    load drop --table GOES >"$WORK/report" 2>&1
    load write --table GOES --operations 10 >"$WORK/report" || return
    goes &
    load write --table GOES --timeout 1 --warmup 6 --duration 0.5 || status=$?
    wait $!
    return $status
}
says_again "not one operation succeeds" 1 'not one operation succeeded; the first error' deleted_meanwhile
files() { (ulimit -n 64; load "$@"); }
says "too few open files" 1 'need about 232 open files.*ulimit -n' files write --clients 200 --operations 10
machine_watch
begun=$SECONDS
says "too few open files for all servers" 1 'need about .* open files.*ulimit -n' \
    bash -c "ulimit -n 4040; '$LOAD' write --quiet --clients 4000 --operations 10"
at_most "that is told before the clients are made:" $((SECONDS - begun)) 4 s
says "they are raised as far as they may" 0 'operations  100' bash -c "ulimit -S -n 20; '$LOAD' write --quiet --clients 20 --in-flight 1 --operations 100"
# both NAME ARGUMENTS...: two at the same moment; each has to end well.
both() {
    local name=$1 first status=0 second=0
    shift
    load "$@" >"$WORK/first" 2>&1 & first=$!
    load "$@" >"$WORK/second" 2>&1 || second=$?
    wait $first || status=$?
    same "$name: $(<"$WORK/first") $(<"$WORK/second")" "$status $second" "0 0"
}
for i in 1 2 3 4 5; do both "two that make one table" write --table "BOTH$i" --operations 10; done

# --- Ctrl-C -----------------------------------------------------------------------------------------------
# interrupt TIMES LOOKS ARGUMENTS...: SIGINT (or $SIGNAL) so often to a run that has done something, or has been
# looked at so often; prints its status.  PAUSE: seconds after each; FREEZE=1: its servers stop answering before.
interrupt() {
    local times=$1 limit=$2 status=0 pid i
    shift 2
    : >"$WORK/report"
    "$LOAD" write --duration 60 --interval 0.2 "$@" >"$WORK/report" 2>&1 & pid=$!
    for ((i = 0; i < limit; i++)); do has_told && break; sleep 0.05; done
    [[ -z ${FREEZE:-} ]] || kill -STOP "$(pid_of server1)" "$(pid_of server2)"
    for ((; times > 0; times--)); do kill -"${SIGNAL:-INT}" "$pid"; sleep "${PAUSE:-0.7}"; done
    wait "$pid" || status=$?
    echo "$status"
}
same "status after an interrupt" "$(interrupt 1 2000)" 130
same "status after SIGTERM" "$(SIGNAL=TERM interrupt 1 2000)" 143
same "status after SIGHUP" "$(SIGNAL=HUP interrupt 1 2000)" 129
grep -q 'interrupted' "$WORK/report" && grep -qE 'operations +[1-9]' "$WORK/report" && ok || bad "an interrupted run reports what it has"

# Where the machine lets a second pass between them they are two: then it is tried again.
for _ in 1 2 3 4 5; do
    status=$(PAUSE=0.05 interrupt 2 2000)
    grep -q 'interrupted' "$WORK/report" && break
done
same "status after two that come together" "$status" 130
grep -q 'interrupted' "$WORK/report" && ok || bad "two that come together are one, and the run reports what it has"
machine_watch
begun=$SECONDS
same "status after a second one, later, whatever is in flight" "$(FREEZE=1 interrupt 2 2000 --timeout 60)" 130
kill -CONT "$(pid_of server1)" "$(pid_of server2)"
at_most "it quits at once:" $((SECONDS - begun)) 24 s
grep -q 'interrupted' "$WORK/report" && bad "a second one, later, waits for no report" || ok

"$LOAD" write --masters tcp://127.0.0.1:1 --timeout 60 >"$WORK/report" 2>&1 & pid=$!
sleep 1
begun=$SECONDS; status=0
kill -INT "$pid"
wait "$pid" || status=$?
same "status after an interrupt while no cluster is there" "$status" 130
at_most "which is not waited for:" $((SECONDS - begun)) 24 s

# --- errors are counted, an outage is seen ------------------------------------------------------------------
outage() { kill_hard server1; kill_hard server2; }
# Whoever has just been started serves only when what is in its log is read, and a sync was done: a run of little time comes then.
serves() { ebt count P-write && ebt count LOAD; } >/dev/null 2>&1
start_servers() { start_server 1; start_server 2 "$@"; await "the servers serve" 120 serves; }
during outage >/dev/null
report write --table P-write --duration 5 --timeout 2 --interval 0.2; status=$?
wait $!
same "an outage is no failure of the generator" $status 0
grep -q 'DEADLINE_EXCEEDED' "$WORK/report" && ok || bad "deadlines are counted by code: $(cat "$WORK/report" | head -c 400)"
same "unknown outcomes are counted" "$(($(field unknown) > 0))" 1
unset "PIDS[server1]" "PIDS[server2]"
says "what is waited for at the start" 1 'waiting for tcp://127.0.0.1:[0-9]+, which has rows of table P-write, [0-9.]+ s of 5 s .*--timeout.*Connection refused' \
    "$LOAD" write --table P-write --timeout 5 --duration 60
says_again "servers that nobody can connect to" 1 'client 1 of 1 could not connect: .*Connection refused' load write --table P-write --timeout 0.5 --duration 60
begun=$SECONDS
same "an interrupt quits at once while no server is there" "$(interrupt 1 20 --timeout 30)" 130
at_most "and does not wait:" $((SECONDS - begun)) 24 s
start_servers
kill -STOP "$(pid_of server1)" "$(pid_of server2)"
says "a server from which nothing comes" 1 'client 1 of 1 could not connect: the deadline of [0-9]+ ms has passed waiting for tcp://127.0.0.1:[0-9]+' \
    load write --table P-write --timeout 0.5 --duration 60
kill -CONT "$(pid_of server1)" "$(pid_of server2)"
await "they serve again" 120 serves
during outage >/dev/null
says "--fail-on-errors" 1 'fail-on-errors: some operations failed; the first error: ' \
    bash -c "'$LOAD' --quiet write --table P-write --duration 5 --timeout 2 --interval 0.2 --fail-on-errors --output '$WORK/report'"
wait $!
unset "PIDS[server1]" "PIDS[server2]"
start_servers
during outage >/dev/null
says "sums that cannot be read hide no figures" 1 'operations  [1-9].*sums could not be read' \
    bash -c "'$LOAD' --quiet add --verify --duration 5 --timeout 2 --interval 0.2 --output '$WORK/report' 2>&1; s=\$?; tail -n 30 '$WORK/report' | tr '\n' ' '; exit \$s"
wait $!
unset "PIDS[server1]" "PIDS[server2]"
start_servers
during outage >/dev/null
says "what is waited for in the middle" 0 "nothing has been answered for [0-9]+ s, and [0-9]+ requests wait .*127.0.0.1:[0-9]+ does not answer: " \
    "$LOAD" write --table P-write --duration 5 --timeout 8 --interval 0.2 --output "$WORK/report"
wait $!
unset "PIDS[server1]" "PIDS[server2]"
start_servers connections_max=16
says_again "a server that takes no more clients" 1 'client [0-9]+ of 40 could not connect: .*connections_max = 16' \
    load run read --table P-read --records 300 --clients 40 --timeout 8 # longer than it takes to displace who is idle
says "drop" 0 '' load drop
says "--drop" 0 '' load write --table GONE --operations 10 --drop
same "both are gone" "$(ebt ls | grep -cE '^(LOAD|GONE)$')" 0
finish

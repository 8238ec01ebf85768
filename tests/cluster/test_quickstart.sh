#!/usr/bin/env bash
# ./quickstart --once as a newcomer runs it, and that it leaves nothing behind but its data.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
passed=0 failed=0
verdict() { if [[ $1 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi; }
source tests/cluster/ports.sh
claim_ports || exit 1
work=$(mktemp -d)
export EDUBBA_VAR=$work/var EDUBBA_PORT=$PORT EDUBBA_SAMPLES=2 EDUBBA_LOAD_SECONDS=1
trap './quickstart stop >/dev/null 2>&1; rm -rf "$work"' EXIT

# A port that is none: said at once, and nothing is built or started.
for port in 65452 65536 99999999999999999999 none -1 0 07400 '7400 '; do
    output=$(EDUBBA_PORT=$port ./quickstart 2>&1)
    [[ $? == 1 && $output == "quickstart: EDUBBA_PORT='$port': must be a number from 1 to 65451"* ]]; verdict $? "EDUBBA_PORT=$port: $output"
done
for seconds in 0 none -1 0.5 10000; do
    output=$(EDUBBA_LOAD_SECONDS=$seconds ./quickstart 2>&1)
    [[ $? == 1 && $output == "quickstart: EDUBBA_LOAD_SECONDS='$seconds': must be a number from 1 to 9999"* ]]; verdict $? "EDUBBA_LOAD_SECONDS=$seconds: $output"
done
for words in "--once extra" "stop extra" "--once --once" "extra"; do
    output=$(timeout 60 ./quickstart $words 2>&1); [[ $? == 2 && $output == "quickstart: "* ]]; verdict $? "quickstart $words: $output"
done
output=$(./quickstart --help); verdict $? "quickstart --help"
for setting in $(grep -oE '\$\{EDUBBA_[A-Z_]+' quickstart | cut -c 3- | sort -u); do
    grep -qE "^  $setting +" <<<"$output" && grep -q "\`$setting\`" README.md; verdict $? "$setting is not in quickstart --help and README.md"
done
output=$(./quickstart start 2>&1); [[ $? == 1 && $output == "quickstart: there is nothing under $EDUBBA_VAR/ to start again: "* ]]; verdict $? "quickstart start before anything: $output"
[[ ! -e $EDUBBA_VAR ]]; verdict $? "a bad setting left something"

# Someone sits on the second server's port: the run fails, and stops the master and the first server.
python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print("bound", flush=True); time.sleep(300)' \
    $((EDUBBA_PORT + 2)) >"$work/sitter" & sitter=$!
until [[ -s $work/sitter ]]; do sleep 0.05; kill -0 $sitter || break; done
output=$(./quickstart 2>&1)
[[ $? == 1 ]]; verdict $? "quickstart with a port taken ended well"
grep -q "tabletserver2 did not start: edubba-tabletserver: .*$((EDUBBA_PORT + 2)).*in use" <<<"$output" && grep -q "EDUBBA_PORT=N" <<<"$output"; verdict $? "what failed is not named: $output"
grep -q 'stopped master' <<<"$output" && grep -q 'stopped tabletserver1' <<<"$output"; verdict $? "it does not say what it stopped"
./quickstart status | grep -q 'runs as'; [[ $? == 1 ]]; verdict $? "a run that failed left something running"
kill $sitter; wait $sitter 2>/dev/null

output=$(./quickstart --once 2>&1); verdict $? "quickstart --once: $output"
grep -q 'METRIC:CPU/' <<<"$output"; verdict $? "the newest row is not shown"
grep -qE 'commands:all' <<<"$output"; verdict $? "the aggregate cells are not shown"
for phase in write read; do
    grep -A 2 "^$phase run on" <<<"$output" | grep -qE 'operations +[1-9][0-9]* +[1-9][0-9]*/s in '; verdict $? "the rate of the load's ${phase}s is not shown: $output"
done
grep -qE 'verified +[1-9][0-9]* values: all right' <<<"$output"; verdict $? "what the load reads is not verified: $output"
# A server is killed, others lead, it comes back; and what was acknowledged is there.
loss=$(sed -n '/losing a server/,$p' <<<"$output")
order=$(grep -oE '^(kill -9 tabletserver|after [0-9.]+ s others lead|starting it again|after [0-9.]+ s it has learnt)' <<<"$loss" | tr -d '0-9. ' | tr '\n' ' ')
[[ $order == "kill-tabletserver aftersotherslead startingitagain aftersithaslearnt " ]]; verdict $? "a server is lost and comes back, but: $order"
killed=$(sed -nE 's/^kill -9 tabletserver([1-3]), .*/\1/p' <<<"$loss")
places=$(awk '/^TABLET/ { n++ } /^[0-9]/ { print n, $3, $4 }' <<<"$loss")
[[ $(grep -c '^1 .* 3/3$' <<<"$places") == 3 && $(grep -c '^2 .* 2/3$' <<<"$places") == 3 && $(grep -c '^3 .* 3/3$' <<<"$places") == 3 ]]
verdict $? "the copies in sync before, without it and after are not 3, 2 and 3 of each tablet: $places"
led_by_killed=":$((EDUBBA_PORT + killed)) "
grep -q "^1 .*$led_by_killed" <<<"$places"; verdict $? "the server that was killed led nothing: $places"
! grep -q "^2 .*$led_by_killed" <<<"$places"; verdict $? "the server that was killed still leads: $places"
acknowledged=$(sed -nE 's/^  acknowledged +([1-9][0-9]*) additions; 0 were refused, 0 have an unknown end$/\1/p' <<<"$loss")
there=$(sed -nE 's/^  in the table +([1-9][0-9]*): nothing is lost.*/\1/p' <<<"$loss")
[[ -n $acknowledged && $acknowledged == "$there" ]]; verdict $? "acknowledged '$acknowledged', in the table '$there': $loss"
gap_ms=$(sed -nE 's/^  gap in service +([1-9][0-9]*) ms: .*/\1/p' <<<"$loss")
((gap_ms >= 100 && gap_ms < 30000)); verdict $? "a gap in service of '$gap_ms' ms"
./quickstart status | grep -q 'runs as'; [[ $? == 1 ]]; verdict $? "something still runs"
# A gateway is there where it could be built.
daemons=4
if [[ -x build/release/gateway/edubba-gateway ]]; then
    daemons=5
    grep -qE "^gateway serves at 127.0.0.1:$((EDUBBA_PORT + 4)), " <<<"$output" && grep -q '^stopped gateway' <<<"$output"; verdict $? "the gateway did not run: $output"
fi

output=$(./quickstart 2>&1); verdict $? "quickstart over old data: $output"
output=$(./quickstart 2>&1); verdict $? "quickstart twice: $output"
said=$output
grep -q 'runs already' <<<"$output"; verdict $? "the second run does not say what runs"
[[ $(EDUBBA_MASTERS=tcp://127.0.0.1:$EDUBBA_PORT build/release/client/cli/ebt ls | sort | tr '\n' ' ') == "CURRENT_METRIC METRIC PROCESS QUICKSTART_HOT " ]]
verdict $? "the tables are not what they should be: the load's is still there, or the hotspot's is not"
# The hotspot is told, and its place on the console has what was read.
grep -qE "^  http://127.0.0.1:$((EDUBBA_PORT + 80))/#/table/QUICKSTART_HOT$" <<<"$output"; verdict $? "it does not say where the hotspot is to be seen: $output"
grep -q '(ebt advise QUICKSTART_HOT)' <<<"$output"; verdict $? "nothing is said about the hotspot: $output"
curl -sf "http://127.0.0.1:$((EDUBBA_PORT + 80))/" | grep -q '<title>'; verdict $? "the console has no page"
curl -sf "http://127.0.0.1:$((EDUBBA_PORT + 80))/api/v1/heat?table=QUICKSTART_HOT&metric=reads" | grep -qE '"total":[1-9]'; verdict $? "the heat map has no reads"
for table in CURRENT_METRIC METRIC PROCESS; do
    EDUBBA_MASTERS=tcp://127.0.0.1:$EDUBBA_PORT build/release/client/cli/ebt ls $table | grep -q '3 replicas each, at least 2 in sync'
    verdict $? "$table does not have three copies"
done
# The port is remembered; another one is refused while the cluster runs, and what is there is left alone.
port=$EDUBBA_PORT
output=$(env -u EDUBBA_PORT timeout 300 ./quickstart 2>&1); verdict $? "quickstart again without EDUBBA_PORT: $output"
[[ $(grep -c "runs already at 127.0.0.1:$port\|runs already at 127.0.0.1:$((port + 1))" <<<"$output") == 2 ]]; verdict $? "it does not say where they run"
grep -q "export EDUBBA_MASTERS=tcp://127.0.0.1:$port\$" <<<"$output"; verdict $? "the hint names another port: $output"
if [[ $daemons == 5 ]]; then
    grep -qE "^  export BIGTABLE_EMULATOR_HOST=127.0.0.1:$((port + 4))( |\$)" <<<"$output"; verdict $? "it does not tell programs written for Bigtable where to go: $output"
    curl -sf "http://127.0.0.1:$((port + 84))/healthz" | grep -qx ok; verdict $? "the gateway is not healthy"
fi
./quickstart status | grep "masters: tcp://127.0.0.1:$port\$" >/dev/null; verdict $? "status does not tell the port"
output=$(EDUBBA_PORT=$((port + 10)) timeout 60 ./quickstart 2>&1)
[[ $? == 1 && $output == "quickstart: EDUBBA_PORT='$((port + 10))', but the cluster under $EDUBBA_VAR/ runs on port $port"* ]]; verdict $? "another port than the cluster's: $output"
mv "$EDUBBA_VAR/port" "$work/port"
output=$(timeout 60 ./quickstart 2>&1); [[ $? == 1 && $output == *"its port, is missing"* ]]; verdict $? "a cluster without its port: $output"
mv "$work/port" "$EDUBBA_VAR/port"
[[ $(./quickstart status | grep -c 'runs as') == $daemons ]]; verdict $? "a run that was refused stopped something"
# What it says of losing a server by hand and of starting it again is what works.
by_hand=$(grep -oE '^  kill -9 \$\(<[^)]*/tabletserver2.pid\)' <<<"$said") && again=$(grep -oE '^  (EDUBBA_VAR=[^ ]+ )?\./quickstart start' <<<"$said")
verdict $? "it does not say how to lose a server by hand, and how to start it again: $said"
[[ $(grep -c 'lab battery --in-flight 512' <<<"$said") == 2 ]]; verdict $? "the experiment that it names does not fill a server: $said"
lost=$(<"$EDUBBA_VAR/tabletserver2.pid")
eval "$by_hand" && for _ in $(seq 600); do [[ -d /proc/$lost ]] || break; sleep 0.05; done
[[ $(./quickstart status | grep -c 'runs as') == $((daemons - 1)) ]]; verdict $? "the server that was killed by hand runs: $(./quickstart status)"
output=$(env -u EDUBBA_PORT -u EDUBBA_VAR bash -c "${again:-false}" 2>&1); verdict $? "$again: $output"
grep -q "^tabletserver2 serves at 127.0.0.1:$((port + 2))," <<<"$output" && [[ $(grep -c 'runs already' <<<"$output") == $((daemons - 1)) ]]; verdict $? "$again says: $output"
[[ $(./quickstart status | grep -c 'runs as') == "$daemons" && $(<"$EDUBBA_VAR/tabletserver2.pid") != "$lost" ]]; verdict $? "not all run: $(./quickstart status)"
# A run that ends between the kill of a server that ran before and its start leaves all of them running, and no load.
# (The time between is two seconds: on a busy machine it may have to be tried again.)
for _ in 1 2 3 4; do
    ./quickstart >"$work/ended" 2>&1 & run=$!
    until grep -q '^kill -9' "$work/ended" || [[ ! -d /proc/$run ]]; do sleep 0.02; done
    kill $run; wait $run; status=$?
    grep -q 'starting it again' "$work/ended" || break
done
[[ $status == 130 ]]; verdict $? "a run that was told to end: $(<"$work/ended")"
grep -q 'starting it again' "$work/ended"; [[ $? == 1 ]]; verdict $? "it was told to end too late to show anything: $(<"$work/ended")"
[[ $(./quickstart status | grep -c 'runs as') == $daemons ]]; verdict $? "the server that was killed does not run again: $(<"$work/ended")"
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep "^$EDUBBA_VAR/[c]ount$" >/dev/null; [[ $? == 1 ]]; verdict $? "the load goes on"
# What ran before a run that fails goes on: its server 3 is gone, and cannot come back.
kill "$(<"$EDUBBA_VAR/tabletserver3.pid")"; while kill -0 "$(<"$EDUBBA_VAR/tabletserver3.pid")" 2>/dev/null; do sleep 0.05; done
mv "$EDUBBA_VAR/tabletserver3" "$work/aside"; touch "$EDUBBA_VAR/tabletserver3"
output=$(./quickstart 2>&1); [[ $? == 1 ]]; verdict $? "quickstart with a folder that is a file: $output"
[[ $(./quickstart status | grep -c 'runs as') == $((daemons - 1)) ]]; verdict $? "what ran before was stopped too: $output"
rm "$EDUBBA_VAR/tabletserver3"; mv "$work/aside" "$EDUBBA_VAR/tabletserver3"
env -u EDUBBA_PORT ./quickstart stop | grep -q 'stopped master'; verdict $? "quickstart stop"
echo none >"$EDUBBA_VAR/port"
output=$(env -u EDUBBA_PORT timeout 60 ./quickstart 2>&1); [[ $? == 1 && $output == "quickstart: $EDUBBA_VAR/port='none': must be"* ]]; verdict $? "a bad port remembered: $output"
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]

#!/usr/bin/env bash
# ./quickstart --once as a newcomer runs it, and that it leaves nothing behind but its data.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
passed=0 failed=0
verdict() { if [[ $1 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi; }
work=$(mktemp -d)
export EDUBBA_VAR=$work/var EDUBBA_PORT=$((10000 + RANDOM % 9000)) EDUBBA_SAMPLES=2 EDUBBA_LOAD_SECONDS=1
trap './quickstart stop >/dev/null 2>&1; rm -rf "$work"' EXIT

# A port that is none: said at once, and nothing is built or started.
for port in 65453 65536 99999999999999999999 none -1 0 07400 '7400 '; do
    output=$(EDUBBA_PORT=$port ./quickstart 2>&1)
    [[ $? == 1 && $output == "quickstart: EDUBBA_PORT='$port': must be a number from 1 to 65452"* ]]; verdict $? "EDUBBA_PORT=$port: $output"
done
for seconds in 0 none -1 0.5 10000; do
    output=$(EDUBBA_LOAD_SECONDS=$seconds ./quickstart 2>&1)
    [[ $? == 1 && $output == "quickstart: EDUBBA_LOAD_SECONDS='$seconds': must be a number from 1 to 9999"* ]]; verdict $? "EDUBBA_LOAD_SECONDS=$seconds: $output"
done
[[ ! -e $EDUBBA_VAR ]]; verdict $? "a bad setting left something"

# Someone sits on the second server's port: the run fails, and stops the master and the first server.
python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print("bound", flush=True); time.sleep(300)' \
    $((EDUBBA_PORT + 2)) >"$work/sitter" & sitter=$!
until [[ -s $work/sitter ]]; do sleep 0.05; kill -0 $sitter || break; done
output=$(./quickstart 2>&1)
[[ $? == 1 ]]; verdict $? "quickstart with a port taken ended well"
grep -q 'tabletserver2 did not start' <<<"$output"; verdict $? "what failed is not named: $output"
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
./quickstart status | grep -q 'runs as'; [[ $? == 1 ]]; verdict $? "something still runs"

output=$(./quickstart 2>&1); verdict $? "quickstart over old data: $output"
output=$(./quickstart 2>&1); verdict $? "quickstart twice: $output"
grep -q 'runs already' <<<"$output"; verdict $? "the second run does not say what runs"
[[ $(EDUBBA_MASTERS=tcp://127.0.0.1:$EDUBBA_PORT build/release/client/cli/ebt ls | sort | tr '\n' ' ') == "CURRENT_METRIC METRIC PROCESS " ]]
verdict $? "the load's table is still there"
# What ran before a run that fails goes on: its server 3 is gone, and cannot come back.
kill "$(<"$EDUBBA_VAR/tabletserver3.pid")"; while kill -0 "$(<"$EDUBBA_VAR/tabletserver3.pid")" 2>/dev/null; do sleep 0.05; done
mv "$EDUBBA_VAR/tabletserver3" "$work/aside"; touch "$EDUBBA_VAR/tabletserver3"
output=$(./quickstart 2>&1); [[ $? == 1 ]]; verdict $? "quickstart with a folder that is a file: $output"
[[ $(./quickstart status | grep -c 'runs as') == 3 ]]; verdict $? "what ran before was stopped too: $output"
rm "$EDUBBA_VAR/tabletserver3"; mv "$work/aside" "$EDUBBA_VAR/tabletserver3"
./quickstart stop | grep -q 'stopped master'; verdict $? "quickstart stop"
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]

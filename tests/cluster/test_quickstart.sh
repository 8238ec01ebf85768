#!/usr/bin/env bash
# ./quickstart --once as a newcomer runs it, and that it leaves nothing behind but its data.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
passed=0 failed=0
verdict() { if [[ $1 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi; }
work=$(mktemp -d)
export EDUBBA_VAR=$work/var EDUBBA_PORT=$((10000 + RANDOM % 9000)) EDUBBA_SAMPLES=2
trap './quickstart stop >/dev/null 2>&1; rm -rf "$work"' EXIT

output=$(./quickstart --once 2>&1); verdict $? "quickstart --once: $output"
grep -q 'METRIC:CPU/' <<<"$output"; verdict $? "the newest row is not shown"
grep -qE 'commands:all' <<<"$output"; verdict $? "the aggregate cells are not shown"
./quickstart status | grep -q 'runs as'; [[ $? == 1 ]]; verdict $? "something still runs"

output=$(./quickstart 2>&1); verdict $? "quickstart over old data: $output"
output=$(./quickstart 2>&1); verdict $? "quickstart twice: $output"
grep -q 'runs already' <<<"$output"; verdict $? "the second run does not say what runs"
./quickstart stop | grep -q 'stopped master'; verdict $? "quickstart stop"
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]

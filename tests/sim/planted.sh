#!/bin/sh
# A green run proves something only if planted bugs turn it red: each must be found within 2000 seeds.
# usage: planted.sh PATH-OF-EDUBBA-SIM
sim=${1:?usage: planted.sh PATH-OF-EDUBBA-SIM}
names=$("$sim" --planted list 2>/dev/null)
passed=0
failed=0
for name in $names; do
    if "$sim" --seeds 1..2000 --planted "$name" >/dev/null 2>&1; then
        passed=$((passed + 1))
    else
        echo "$name: not found in 2000 seeds"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

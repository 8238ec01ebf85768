#!/bin/sh
# A green run proves something only if planted bugs turn it red: each must be found within 2000 seeds.
# usage: planted.sh PATH-OF-EDUBBA-SIM [COUNT]     COUNT: so many of them, others each day of the year
sim=${1:?usage: planted.sh PATH-OF-EDUBBA-SIM [COUNT]}
names=$("$sim" --planted list 2>/dev/null)
all=$(echo "$names" | wc -l)
if [ -n "$2" ]; then
    day=$(date +%j | sed 's/^0*//')
    first=$((day * $2 % all))
    names=$(printf '%s\n%s\n' "$names" "$names" | tail -n +$((first + 1)) | head -n "$2")
fi
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

#!/bin/sh
# A green run proves something only if planted bugs turn it red: each must be found within 2000 seeds.  Which seed shows
# one changes with the code, and of a bug that one seed in 500 shows one range in fifty has none: so a second range, and
# a third, is looked through, and it is told.
# usage: planted.sh PATH-OF-EDUBBA-SIM [COUNT]     COUNT: so many of them, others each day of the year
sim=${1:?usage: planted.sh PATH-OF-EDUBBA-SIM [COUNT]}
names=$("$sim" --planted list 2>/dev/null)
all=$(echo "$names" | wc -l)
if [ -n "$2" ]; then
    day=$(date +%j | sed 's/^0*//')
    first=$((day * $2 % all))
    names=$(printf '%s\n%s\n' "$names" "$names" | tail -n +$((first + 1)) | head -n "$2")
fi
is_found() { # NAME
    for range in 1..2000 2001..4000 4001..6000; do
        if "$sim" --seeds $range --planted "$1" >/dev/null 2>&1; then
            [ $range = 1..2000 ] || echo "$1: found in seeds $range only"
            return 0
        fi
    done
    return 1
}
passed=0
failed=0
for name in $names; do
    if is_found "$name"; then
        passed=$((passed + 1))
    else
        echo "$name: not found"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# test_disk.sh BUILD: shim_disk and power_cut do what they say.  What was synced stays, what was not may
# go, whole sectors of it at a time; errors come when they are asked for, and once where that was asked.
tools=$(cd "${1:-build/release}/tests/cluster/faults" && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/edubba-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
same() { if [[ $2 == "$3" ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1: got '$2', wanted '$3'"; fi; }
fresh() { rm -rf "$work/data" "$work/faults"; mkdir -p "$work/data" "$work/faults/undo"; }
probe() { FAULTS_FOLDER=$work/faults FAULTS_DATA=$work/data LD_PRELOAD=$tools/shim_disk.so "$tools/disk_probe" "$work/data" "$@" 2>&1; }
cut_power() { "$tools/power_cut" "$work/data" "$work/faults" "$1" >/dev/null || { failed=$((failed + 1)); echo "FAILED: power_cut"; }; }
content() { if [[ -e $work/data/$1 ]]; then tr -d '\0' <"$work/data/$1"; else echo none; fi; }
# outcomes ROUNDS FILE WORD...: what comes of a file, by all seeds, sorted, in one line
outcomes() {
    local rounds=$1 file=$2 seed
    shift 2
    for ((seed = 1; seed <= rounds; seed++)); do
        fresh
        probe "$@" >/dev/null
        cut_power "$seed"
        content "$file"; echo
    done | grep . | LC_ALL=C sort -u | tr '\n' ' '
}
made=(write f 0 old sync f folder)

same "what was synced stays" "$(outcomes 20 f "${made[@]}" write f 0 new sync f)" "new "
same "what was not may go" "$(outcomes 20 f "${made[@]}" write f 0 new)" "new old "
same "to any state in between" "$(outcomes 60 f "${made[@]}" write f 0 one write f 0 two)" "old one two "
same "a synced descriptor needs no sync" "$(outcomes 20 f "${made[@]}" synced f 0 new)" "new "
same "and makes nothing else durable" "$(outcomes 20 f "${made[@]}" write f 0 new synced f 600 x)" "newx oldx "
same "sectors go one by one" "$(outcomes 60 f "${made[@]}" write f 600 old2 sync f write f 0 new write f 600 new2)" \
    "newnew2 newold2 oldnew2 oldold2 "
same "a sync of one file is none of another" "$(outcomes 20 f "${made[@]}" write f 0 new write g 0 x sync g)" "new old "
same "a file that was made may be gone" "$(outcomes 20 f write f 0 new sync f)" "new none "
same "not when its folder was synced" "$(outcomes 20 f write f 0 new sync f folder)" "new "
same "a rename may be gone" "$(outcomes 20 f "${made[@]}" write g 0 new sync g folder rename g f)" "new old "
same "not when its folder was synced" "$(outcomes 20 f "${made[@]}" write g 0 new sync g folder rename g f folder)" "new "
same "a removal may be gone" "$(outcomes 20 f "${made[@]}" remove f)" "none old "
same "a file that was removed for good" "$(outcomes 20 f "${made[@]}" remove f folder write f 0 new sync f folder)" "new "
# Killed, started again, and then the power goes: what the first had not synced may still go.
fresh
probe "${made[@]}" write f 0 new >/dev/null
probe write g 0 x sync g folder >/dev/null
for ((seed = 1; seed <= 20 && $(content f | grep -c new); seed++)); do
    cp -r "$work/faults" "$work/kept"; cp "$work/data/f" "$work/f.kept"
    cut_power "$seed"
    [[ $(content f) == old ]] && break
    rm -rf "$work/faults"; mv "$work/kept" "$work/faults"; cat "$work/f.kept" >"$work/data/f"
done
same "over a kill -9 and a new process" "$(content f)" old

fresh
same "the folder of all stays" "$(probe write f 0 x; cut_power 3; [[ -d $work/data ]] && echo there)" there

fresh
echo "sync EIO data/f once" >"$work/faults/fail"
same "a sync fails once" "$(probe "${made[@]}" write f 0 new sync f)" "sync: Input/output error"
same "it is taken away" "$([[ -e $work/faults/fail ]] && echo there)" ""
fresh
echo "sync EIO data/f always" >"$work/faults/fail"
same "a sync fails always, of what was named" "$(probe "${made[@]}" sync f write g 0 x sync g | sort | uniq -c | awk '{ print $1, $2 }')" "2 sync:"
fresh
probe "${made[@]}" >/dev/null
echo "grow ENOSPC data/f always" >"$work/faults/fail"
same "a full disk: no growing" "$(probe write f 0 new write f 2 more)" "write: No space left on device"
same "what was there can be written" "$(content f)" new
fresh
probe "${made[@]}" >/dev/null
echo "sync LIE data/f always" >"$work/faults/fail"
probe write f 0 new sync f >/dev/null
rm "$work/faults/fail"
for ((seed = 1; seed <= 20; seed++)); do
    [[ $(content f) == old ]] && break
    cp -r "$work/faults" "$work/kept"
    cut_power "$seed"
    [[ $(content f) == old ]] || { rm -rf "$work/faults"; mv "$work/kept" "$work/faults"; }
done
same "a sync that lies makes nothing durable" "$(content f)" old
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]

#!/usr/bin/env bash
# test_first_start.sh [BUILD] [--rounds N]: the power fails soon after a master and a tablet server have
# started for the first time.  A table that was made is there afterwards, and the row in it: not one name
# of a file or folder that they stand on was only in the page cache.
rounds=6
[[ -n ${1:-} && $1 != --* ]] && { BUILD=$(realpath "$1"); shift; }
[[ ${1:-} == --rounds ]] && rounds=$2
source "$(dirname "$0")/../cluster.sh"
tools=$BUILD/tests/cluster/faults

shimmed() {
    mkdir -p "$WORK/faults/$1/undo"
    LAUNCHER=(env "FAULTS_FOLDER=$WORK/faults/$1" "FAULTS_DATA=$WORK/$1" "LD_PRELOAD=$tools/shim_disk.so")
}
both() {
    shimmed master
    start_master || return 1
    shimmed server1
    start_server 1 "log_segment=1 MiB" "ballast=1 MiB" "map_size=1 GiB"
}
for ((round = 1; round <= rounds; round++)); do
    rm -rf "$WORK/faults" "$WORK/master" "$WORK/server1"
    both || { bad "round $round: the first start"; break; }
    ebt createtable T families=f || bad "round $round: createtable"
    ebt set T row f:v=kept || bad "round $round: set"
    kill_hard master
    kill_hard server1
    for name in master server1; do "$tools/power_cut" "$WORK/$name" "$WORK/faults/$name" "$round" >>"$WORK/$name.log"; done
    both || { bad "round $round: no start after the power cut"; break; }
    says "round $round (seed $round): the row is there" 0 kept ebt --timeout 60 lookup T row
    kill_hard master
    kill_hard server1
done
finish

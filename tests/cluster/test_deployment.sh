#!/usr/bin/env bash
# test_deployment.sh [BUILD]: the cluster of docs/deployment.md, from the very files that stand there, on hosts as network
# namespaces: it comes up, keeps three copies, and outlives a machine.  Needs root, for the namespaces, and etcd.
[[ -n ${1:-} ]] && BUILD=$(realpath "$1")
source "$(dirname "$0")/cluster.sh"
source "$ROOT/tests/cluster/faults/hosts.sh"
PAGE=$ROOT/docs/deployment.md
HOSTS=3

# file_of PATH HOST: the block of the page behind "<!-- file: PATH -->", as it is to be on that host.
file_of() {
    awk -v mark="<!-- file: $1 -->" '
        $0 == mark { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' "$PAGE" |
        sed -E "/INITIAL_CLUSTER=|endpoints|masters =/!s/10\.77\.0\.11/$(address_of "$2")/; s/^ETCD_NAME=.*/ETCD_NAME=m$2/"
}
put_files() {
    local host path
    for ((host = 1; host <= HOSTS; host++)); do
        mkdir -p "$WORK/$host"
        for path in /etc/default/etcd /etc/edubba/master.conf /etc/edubba/tabletserver.conf /etc/edubba/gateway.conf; do
            file_of $path $host >"$WORK/$host/$(basename $path)"
            [[ -s $WORK/$host/$(basename $path) ]] || bad "$PAGE has no $path"
        done
    done
}

start_etcd() {
    local settings
    mapfile -t settings <"$WORK/$1/etcd"
    nsenter --net="/run/netns/$(namespace_of "$1")" env "${settings[@]}" "ETCD_DATA_DIR=$WORK/$1/etcd.data" etcd >>"$WORK/etcd$1.log" 2>&1 </dev/null &
    PIDS[etcd$1]=$!
}
start_daemon() {
    local status
    LAUNCHER=(nsenter "--net=/run/netns/$(namespace_of "$2")") LAUNCH_CONFIG=$WORK/$2/$1.conf
    launch "$1$2" "$BUILD/$1/edubba-$1" "folder=$WORK/$2/$1.data"
    status=$?
    LAUNCHER=() LAUNCH_CONFIG=''
    return $status
}
start_all() {
    local host
    for ((host = 1; host <= HOSTS; host++)); do start_etcd $host; done
    for ((host = 1; host <= HOSTS; host++)); do start_daemon master $host || return 1; done
    for ((host = 1; host <= HOSTS; host++)); do start_daemon tabletserver $host || return 1; done
}

ebt() { on 0 "$BUILD/client/cli/ebt" "$@"; }
# well SECONDS: `ebt status` has nothing to complain of, within so long.
well() {
    local begun=$SECONDS
    until ebt status >"$WORK/status" 2>&1; do
        ((SECONDS - begun < $1)) || { cat "$WORK/status"; return 1; }
        sleep 0.2
    done
}

command -v etcd >/dev/null || hosts_skip "etcd is not installed (deploy/packages test)"
trap 'cluster_end; hosts_end' EXIT
hosts_begin $HOSTS
put_files
EDUBBA_MASTERS=$(sed -n 's/^\$ export EDUBBA_MASTERS=//p' "$PAGE")
says "edubba-master takes the page's file" 0 good "$BUILD/master/edubba-master" --config "$WORK/1/master.conf" --check-config
says "edubba-tabletserver takes the page's file" 0 good "$BUILD/tabletserver/edubba-tabletserver" --config "$WORK/1/tabletserver.conf" --check-config
[[ ! -x $BUILD/gateway/edubba-gateway ]] ||
    says "edubba-gateway takes the page's file" 0 good "$BUILD/gateway/edubba-gateway" --config "$WORK/1/gateway.conf" --check-config

start_all || { bad "the cluster of the page does not come up"; finish; }
well 90 || bad "ebt status complains of a new cluster"
mapfile -t commands < <(sed -n 's/^\$ ebt \(createtable\|set\) /\1 /p' "$PAGE")
same "the page has a table to make and a row to set" "${#commands[@]}" 2
for command in "${commands[@]}"; do
    eval "says 'ebt ${command%% *}, as the page has it' 0 '' ebt $command"
done
has_three_copies() { ebt tablets METRIC | grep -q 3/3; }
await "three copies, as the masters' file says" $WHOLE_SECONDS has_three_copies
well 90 || bad "ebt status complains of a table of three copies"

for name in etcd master tabletserver; do kill_hard "${name}1"; done
says "a machine is gone: the row is there" 0 55 ebt --timeout 60 read METRIC
says "and can be written to" 0 '' ebt --timeout 60 set METRIC 'server1#1426535613' METRIC:CPU=56
says "ebt status names who is gone" 1 10.77.0.11 ebt status
start_etcd 1
start_daemon master 1 && start_daemon tabletserver 1 || bad "the machine does not come back"
# The page waits for all copies, not only until nobody is needed.
waits=$(sed -n 's/^\$ \(sleep 5; until .*\)/\1/p' "$PAGE")
[[ -n $waits ]] && ok || bad "$PAGE does not say how to wait"
says "the page waits for all copies" 0 '' timeout $WHOLE_SECONDS env PATH="$BUILD/client/cli:$PATH" \
    nsenter "--net=/run/netns/$(namespace_of 0)" bash -c "${waits:-false}"
says "and they are there" 0 ' 3/3 ' ebt tablets METRIC
well 150 || bad "ebt status complains after the machine has come back"

# --- etcd, as the pages ask of it -------------------------------------------------------------------
# etcd_ask PAGE WORD...: the line of that page that begins with these, run where a member is; NUMBER stands for the member's.
MASTERS_PAGE=$ROOT/docs/masters.md
eval "$(sed -n 's/^\$ export ETCDCTL_API/export ETCDCTL_API/p' "$PAGE")"
etcd_line() { sed -n "s/^\$ \(etcdctl ${*:2}.*\)/\1/p" "$1" | sed "s/  *#.*//; s/8211f1d0f64f3269/${NUMBER:-}/"; }
etcd_ask() {
    local line
    line=$(etcd_line "$@")
    [[ -n $line ]] || { echo "$1 has no line 'etcdctl ${*:2}'"; return 1; }
    on 1 bash -c "$line"
}
says "etcdctl asks all members" 0 '^3$' eval 'etcd_ask "$PAGE" member list | grep -c started'
says "each answers" 0 '^3$' eval 'etcd_ask "$PAGE" endpoint health 2>&1 | grep -c "is healthy"'
kill_hard etcd3
rm -rf "$WORK/3/etcd.data"
NUMBER=$(etcd_ask "$MASTERS_PAGE" member list | awk -F ', ' '$3 == "m3" { print $1 }')
# One that is asked while etcd still sends to the leader that is gone is lost, as the page says.
is_removed() {
    etcd_ask "$MASTERS_PAGE" member remove >>"$WORK/etcd.asked" 2>&1
    etcd_ask "$MASTERS_PAGE" member list >"$WORK/etcd.members" && ! grep -q ', m3,' "$WORK/etcd.members"
}
await "a member is lost: it goes" 60 is_removed || cat "$WORK/etcd.asked"
await "another one may come" 60 eval 'etcd_ask "$MASTERS_PAGE" member add 2>&1 | grep added'
echo ETCD_INITIAL_CLUSTER_STATE=existing >>"$WORK/3/etcd"
start_etcd 3
await "it has come" 60 eval '[[ $(etcd_ask "$PAGE" endpoint health 2>&1 | grep -c "is healthy") == 3 ]]'
well 150 || bad "ebt status complains of a member of etcd that was replaced"
finish

# Sourced: hosts as network namespaces, on a switch that is another; nothing of this machine's own network
# is touched, and runs at the same time do not see each other.
#
#   hosts_begin N                make hosts 0 to N; 0 is where clients live.  Where namespaces are not to
#                                be had it says so and ends the test as skipped
#   address_of HOST, on HOST COMMAND...
#   hosts_end                    end what runs on them, and take them away
#
#   network_cut A B              neither hears the other
#   network_cut_one_way A B      B does not hear A
#   network_isolate HOST         it hears itself only
#   network_silence HOST PORT    what listens there hears nobody, and what it says reaches nobody
#   network_cut_port HOST PORT   nothing goes from HOST to that port of any host
#   network_reset HOST PORT      connections from HOST to that port of any host are reset
#   network_slow DELAY_MS JITTER_MS LOSS_PERCENT, network_fast
#   network_heal                 no more of these
HOSTS_MAX=0 HOSTS_NAME=edubba-$$
RELAY_PID=''

address_of() { echo "10.77.0.$((10 + $1))"; }
namespace_of() { echo "$HOSTS_NAME-$1"; }
on() { local host=$1; shift; nsenter --net="/run/netns/$(namespace_of "$host")" "$@"; }

hosts_skip() {
    echo "skipped: $1"
    echo "SKIPPED: NO FAULT WAS TRIED: $1" >&2
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# What an earlier run left behind that was killed itself: its namespaces, if they are empty.
hosts_sweep() {
    local name pids
    for name in $(ip netns list 2>/dev/null | grep -oE '^edubba-[0-9]+-[a-z0-9]+'); do
        [[ ! -d /proc/$(cut -d- -f2 <<<"$name") ]] || continue
        mapfile -t pids < <(ip netns pids "$name" 2>/dev/null)
        if ((${#pids[@]} == 0)); then ip netns del "$name" 2>/dev/null
        else echo "run: $name is of a run that was killed; processes ${pids[*]} are left of it"; fi
    done
}

hosts_begin() {
    local host tool switch
    HOSTS_MAX=$1 switch=$(namespace_of switch)
    for tool in ip nft nsenter; do
        command -v $tool >/dev/null || hosts_skip "$tool is not installed (deploy/packages test)"
    done
    hosts_sweep
    ip netns add "$switch" 2>/dev/null || hosts_skip "no right to make network namespaces here"
    if ! ip -n "$switch" link add bridge0 type bridge || ! ip -n "$switch" link set bridge0 up; then
        hosts_skip "no bridge can be made here"
    fi
    for ((host = 0; host <= HOSTS_MAX; host++)); do
        host_begin "$host" "$switch" || hosts_skip "a host cannot be made here"
    done
}

host_begin() {
    local host=$1 switch=$2 name
    name=$(namespace_of "$host")
    ip netns add "$name" &&
        ip -n "$name" link set lo up &&
        ip -n "$name" link add eth0 type veth peer name "host$host" netns "$switch" &&
        ip -n "$switch" link set "host$host" master bridge0 up &&
        ip -n "$name" address add "$(address_of "$host")/24" dev eth0 &&
        ip -n "$name" link set eth0 up &&
        on "$host" nft -f - <<'RULES'
table inet faults {
    chain in { type filter hook input priority 0; }
    chain out { type filter hook output priority 0; }
}
RULES
}

hosts_end() {
    local name
    network_fast
    for name in $(ip netns list 2>/dev/null | grep -oE "^$HOSTS_NAME-[a-z0-9]+"); do
        # shellcheck disable=SC2046  # several
        kill -KILL $(ip netns pids "$name" 2>/dev/null) 2>/dev/null
        ip netns del "$name"
    done
}

# --- faults ---------------------------------------------------------------------------------------
rule() { local host=$1; shift; on "$host" nft add rule inet faults "$@" drop; }

network_cut_one_way() { rule "$2" in ip saddr "$(address_of "$1")"; }
network_cut() { network_cut_one_way "$1" "$2"; network_cut_one_way "$2" "$1"; }
network_isolate() {
    rule "$1" in iifname != lo
    rule "$1" out oifname != lo
}
network_silence() {
    rule "$1" in tcp dport "$2"
    rule "$1" out tcp sport "$2"
}
network_cut_port() { rule "$1" out tcp dport "$2"; }
network_reset() {
    on "$1" nft add rule inet faults out tcp dport "$2" reject with tcp reset
    on "$1" nft add rule inet faults in tcp sport "$2" reject with tcp reset
}
network_heal() {
    local host
    for ((host = 0; host <= HOSTS_MAX; host++)); do on "$host" nft flush table inet faults; done
}

# Through TUN devices of a process of ours: their routes are the more special ones, and go with it.
network_slow() {
    local host names=()
    echo "$1 $2 $3" >"$WORK/relay"
    for ((host = 0; host <= HOSTS_MAX; host++)); do names+=("$(namespace_of "$host")"); done
    "$FAULTS_BUILD/relay" "$WORK/relay" "${names[@]}" >"$WORK/relay.ready" 2>>"$WORK/relay.log" &
    RELAY_PID=$!
    until grep -q READY "$WORK/relay.ready"; do
        kill -0 $RELAY_PID 2>/dev/null || { bad "no TUN device: $(tail -n 1 "$WORK/relay.log")"; return 1; }
        sleep 0.02
    done
    for ((host = 0; host <= HOSTS_MAX; host++)); do
        on "$host" ip link set slow0 up
        on "$host" ip route add 10.77.0.0/25 dev slow0 src "$(address_of "$host")"
    done
}
network_fast() {
    [[ -n $RELAY_PID ]] || return 0
    kill "$RELAY_PID" 2>/dev/null
    wait "$RELAY_PID" 2>/dev/null
    RELAY_PID=''
}

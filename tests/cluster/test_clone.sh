#!/usr/bin/env bash
# A copied folder of a tablet server is started beside the server that it was copied from: it is not let in, proposes nothing,
# and is told nothing.  Then the original dies, or stands still for a while: the copy comes in its place as an old disk
# does, and nothing that was acknowledged is lost or doubled.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
settings=("memory_limit=64 MiB" "log_segment=1 MiB" "ballast=1 MiB" replicate=true "map_size=1 GiB")
start_master replication.replicas=3 replication.min_in_sync=2 "replication.replace_after=5 s" || exit 1
for n in 1 2 3; do start_server $n "${settings[@]}" || exit 1; done

adds=0
add() { # TIMES
    local i
    for ((i = 0; i < $1; i++)); do
        if ebt addtocell T c s:n=1@0 >/dev/null; then adds=$((adds + 1)); else bad "an add failed"; fi
    done
}
sum() { ebt --timeout 60 --json lookup T c 2>/dev/null | grep -oE '[0-9]+' | tail -n 1; }
leader() { ebt --json tablets T | grep -oE '"address":"tcp://127.0.0.1:[0-9]+' | head -n 1 | grep -oE '[0-9]+$' | { read -r port; echo $((port - PORT)); }; }
version() { ebt tablets T | awk 'NR == 2 { print $5 }'; }
in_sync() { ebt tablets T | awk 'NR == 2 { print $4 }'; }
whole() { [[ $(in_sync) == 3/3 ]]; }
logged() { grep -q "$2" "$WORK/$1.log"; }

await "there are three servers" 60 eval '[[ $(ebt --json servers 2>/dev/null | grep -c "\"alive\":true") == 3 ]]'
ebt createtable T families=s::intsum replicas=3 min-in-sync=2 || exit 1
add 5
await "three copies" $WHOLE_SECONDS whole

# --- a copy, beside its original ----------------------------------------------------------------------
twin=$((1 + $(leader) % 3)) # not the primary
kill_hard server$twin
cp -a "$WORK/server$twin" "$WORK/server4"
start_server "$twin" "${settings[@]}" || exit 1
await "three copies again" $WHOLE_SECONDS whole
add 20
start_server 4 "${settings[@]}" || exit 1
await "the copy is refused" 60 logged server4 "must end if its folder is a copy"
# (Where the machine gives a member no processor for so long that the others remove it, that changes the version, too, and says
# nothing of the copy: then once more.)
for _ in {1..8}; do
    before=$(version)
    for _ in $(seq 8); do
        add 2
        sleep 0.5
    done
    [[ $(version) == "$before" ]] && break
    await "three copies once more" $WHOLE_SECONDS whole
done
same "nothing was changed by it" "$(version)" "$before"
same "nor lost or doubled" "$(sum)" "$adds"
says_again "it answers nobody" 1 "another process runs as this server|UNAVAILABLE" env EDUBBA_MASTERS="tcp://127.0.0.1:$((PORT + 4))" \
    "$BUILD/client/cli/ebt" --timeout 3 lookup T c

# --- the original stands still, and the copy comes in its place --------------------------------------
kill -STOP "$(pid_of server$twin)"
await "the copy is let in" 60 logged server4 master_found
add 10
await "three copies with it" $WHOLE_SECONDS whole
kill -CONT "$(pid_of server$twin)"
await "the original is refused now" 60 logged "server$twin" "this older process"
add 10
same "nothing is lost or doubled" "$(sum)" "$adds"
kill_hard "server$twin"

# --- whoever leads dies: the copy has all of it --------------------------------------------------------
await "three copies before it" $WHOLE_SECONDS whole
kill_hard "server$(leader)"
add 1 # another leads; tried once: of one that was given up it would not be known whether it was done
same "all of it is there" "$(sum)" "$adds"

# --- who a server is, is not read from a file that decayed ---------------------------------------------
sed -i 's/incarnation 1/incarnation 2/' "$WORK/server$twin/SERVER"
says "a decayed identity" 1 "SERVER: not the identity of a server" "$BUILD/tabletserver/edubba-tabletserver" --set "folder=$WORK/server$twin" \
    --set "address=tcp://127.0.0.1:$((PORT + twin))" --set "masters=$EDUBBA_MASTERS"
finish

#!/usr/bin/env bash
# What `ebt --help` promises of the options holds of every command: each that `ebt help --commands` names is run with each
# option, against a cluster, and against a master that takes connections and never answers.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
cluster_begin 1
printf 'r1,1\n' >"$WORK/rows.csv"

# NAME: the words behind it with which it is done in this cluster.
words_of() {
    case $1 in
        createtable) echo "T$RANDOM$RANDOM families=f" ;;
        deletetable) ebt createtable GONE families=f 2>/dev/null; echo GONE ;;
        createfamily) echo "T g$RANDOM$RANDOM" ;;
        deletefamily) ebt createfamily T old 2>/dev/null; echo "T old" ;;
        setgcpolicy) echo "T f maxversions=3" ;;
        setreplication) echo "T replicas=1 min-in-sync=1" ;;
        protect | pin) echo "T off" ;;
        set) echo "T row f:a=1" ;;
        addtocell) echo "T row sum:a=1" ;;
        lookup) echo "T row" ;;
        deleterow) echo "T no-row" ;;
        deletecolumn) echo "T row f none" ;;
        deleteallrows) echo "T prefix=no-row" ;;
        import) echo "T $WORK/rows.csv column-family=f" ;;
        checkandmutate) echo "T row columns=f:a false=f:b=1" ;;
        readmodifywrite) echo "T row f c append=x" ;;
        read | count | export | samplerowkeys | tablets | hot-keys | hot-tablets | advise | events) echo T ;;
        split) echo "T k$RANDOM$RANDOM" ;;
        drain) echo "127.0.0.1:$((PORT + 1)) --undo" ;;
        document) echo no/such ;;
        debug) echo bundle ;;
        ls | status | servers | recover | masters | documents | version | help) echo "" ;;
        *) return 1 ;;
    esac
}
# Done by another program, or by servers that replicate: the one has options of its own, the other a test of its own.
is_apart() { [[ $1 == catalog || $1 == merge ]]; }
# Nobody is asked.
is_alone() { [[ $1 == version || $1 == help ]]; }
# They print nothing but with --json, when all is well.
may_be_silent() { [[ $1 =~ ^(documents|read|hot-keys|hot-tablets|events|recover)$ ]]; }
wanted_status() { [[ $1 == document ]] && echo 1 || echo 0; } # there is none

ebt createtable T families=f,sum::intsum || bad "a table"
ebt set T row f:a=1 || bad "a row"
mapfile -t COMMANDS < <(ebt help --commands)
same "there are commands" "$((${#COMMANDS[@]} > 30))" 1

# --- what help says ---------------------------------------------------------------------------
for name in "${COMMANDS[@]}"; do
    says "help $name" 0 "^ebt $name( |$)" ebt help "$name"
    says "$name is in the overview" 0 "^  $name +[A-Z]" ebt --help
    is_apart "$name" || words_of "$name" >/dev/null || bad "this test does not know $name: say what it is run with"
done

# --- --json, -o: each command, done -------------------------------------------------------------
is_json() { python3 -c '
import json, sys
text = sys.stdin.read()
try:
    json.loads(text) # debug bundle: one object in several lines
except ValueError:
    for line in text.splitlines():
        json.loads(line)
' 2>/dev/null; }
for name in "${COMMANDS[@]}"; do
    is_apart "$name" && continue
    wanted=$(wanted_status "$name")
    for place in before behind; do
        read -ra words <<<"$(words_of "$name")"
        [[ $place == before ]] && line=(--json "$name" "${words[@]}") || line=("$name" "${words[@]}" --json)
        status=0
        timeout 60 "$BUILD/client/cli/ebt" "${line[@]}" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
        same "${line[*]}: exit status ($(head -c 200 "$WORK/err"))" "$status" "$wanted"
        is_json <"$WORK/out" && ok || bad "${line[*]}: not JSON: $(head -c 200 "$WORK/out")"
        is_json <"$WORK/err" && ok || bad "${line[*]}: errors not JSON: $(head -c 200 "$WORK/err")"
        [[ -s $WORK/out || $status != 0 ]] || may_be_silent "$name" && ok || bad "${line[*]} prints nothing"
    done
    read -ra words <<<"$(words_of "$name")"
    rm -f "$WORK/file"
    none "-o file $name prints nothing" "$(timeout 60 "$BUILD/client/cli/ebt" --json -o "$WORK/file" "$name" "${words[@]}" 2>/dev/null </dev/null)"
    [[ -s $WORK/file || $wanted != 0 ]] || may_be_silent "$name" && ok || bad "-o FILE $name: nothing is in it"
done
for option in --version --help; do
    rm -f "$WORK/file"
    none "-o file $option prints nothing" "$(ebt -o "$WORK/file" $option)"
    [[ -s $WORK/file ]] && ok || bad "-o FILE $option: nothing is in it"
done
says "-o and a FILE of its own" 2 'itself: -o does not go with it' ebt -o "$WORK/file" export T "$WORK/other"
says "-o and a FILE of its own" 2 'itself: -o does not go with it' ebt -o "$WORK/file" debug bundle "$WORK/other"
for option in "--masters $EDUBBA_MASTERS" "--timeout 3" --json "-o $WORK/file"; do
    says "catalog import and $option" 2 'are not for it' ebt $option catalog import
done
for line in "events follow=false follow=false" "hot-tablets last=1m last=2m" "recover --store=1 --store=2"; do
    says "$line" 2 'is given twice' ebt $line
done

# --- --masters and --timeout: a master that never answers -----------------------------------------
python3 -c '
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
taken = []
while True:
    taken.append(listener.accept())' "$((PORT + 180))" & PIDS[silent]=$!
SILENT=tcp://127.0.0.1:$((PORT + 180))
machine_watch
await "the silent master" 60 bash -c "exec 2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/$((PORT + 180))"
ends_within() { # NAME SECONDS WORD...: fails, with a reason, in time
    local name=$1 seconds=$2 status=0 begun
    shift 2
    begun=$(date +%s%3N)
    timeout 60 "$BUILD/client/cli/ebt" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
    local took=$(($(date +%s%3N) - begun))
    same "$*: exit status" "$status" 1
    at_most "$*: took" $took $((seconds * 1000))
    cat "$WORK/out" "$WORK/err" | grep -qi "$SILENT\|no answer\|timeout" && ok || bad "$* does not say why: $(head -c 300 "$WORK/err")"
}
for name in "${COMMANDS[@]}" merge; do
    is_alone "$name" || [[ $name == catalog ]] && continue
    read -ra words <<<"$(words_of "$name")"
    [[ $name != merge ]] || words=(T k)
    ends_within "$name" 4 --masters "$SILENT" --timeout 0.4 "$name" "${words[@]}"
done
# All together; four times the second that each may take would be more.
ends_within masters 3 --masters "$SILENT,$SILENT/,tcp://localhost:$((PORT + 180)),tcp://127.0.0.2:1" --timeout 0.4 masters
finish

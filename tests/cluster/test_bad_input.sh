#!/usr/bin/env bash
# Bad input of every kind: a clear error that names the thing, the right exit code, nothing lost.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
cluster_begin 1
ebt createtable T families=f,sum::intsum,seen::inthll || bad "createtable"
ebt set T keep f:a=1@1000 || bad "set"
SERVER=$BUILD/tabletserver/edubba-tabletserver MASTER=$BUILD/master/edubba-master
big() { head -c "$1" /dev/zero | tr '\0' x; }

# --- requests ---------------------------------------------------------------------------------
says "unknown table" 1 'NOT_FOUND.*nowhere' ebt read nowhere
says "unknown family" 1 "NOT_FOUND.*Requested column family not found: 'nofamily'" ebt set T r nofamily:a=1
says "unknown family to read" 1 "NOT_FOUND.*Requested column family not found: 'nofamily'" ebt read T columns=nofamily:
says "unknown family to add to" 1 "NOT_FOUND.*Requested column family not found: 'nofamily'" ebt readmodifywrite T r nofamily a append=x
says "unknown table to delete" 1 "^ebt: NOT_FOUND: table 'nowhere' was not found" ebt deletetable nowhere
says "unknown table to split" 1 "^ebt: NOT_FOUND: table 'nowhere' was not found" ebt split nowhere k
says "empty key" 1 'INVALID_ARGUMENT' ebt set T '' f:a=1
says "key of 4097 bytes" 1 'INVALID_ARGUMENT' ebt set T "$(big 4097)" f:a=1
says "key of 4096 bytes" 0 '' ebt set T "$(big 4096)" f:a=1
says "a key of bytes that cannot be typed" 0 '' ebt --escaped set T 'a\x00\\b' f:a=1
says "is that row" 0 '"key":"a.u0000..b"' ebt --json --escaped lookup T 'a\x00\\b'
says "is counted by its beginning" 0 '^1$' ebt --escaped count T 'prefix=a\x00'
says "and read by its bounds" 0 '"key":"a.u0000' ebt --json --escaped read T 'start=a\x00' 'end=a\x01'
ebt --escaped deleterow T 'a\x00\\b'
says "is gone" 0 '^0$' ebt --escaped count T 'prefix=a\x00'
says "what is none behind a backslash" 2 'backslash is written' ebt --escaped set T 'a\q' f:a=1
says "a column without a name" 0 '' ebt set T unnamed f:=1
says "and as text (f:)" 0 '  f: +@ ' ebt lookup T unnamed
ebt deleterow T unnamed
says "timestamp out of granularity" 1 'INVALID_ARGUMENT.*[Gg]ranularity' ebt set T r f:a=1@1001
says "bad regex" 1 'INVALID_ARGUMENT' ebt read T 'regex=(('
says "SetCell on an aggregate" 1 'INVALID_ARGUMENT.*type mismatch' ebt set T r sum:a=1@0
says "AddToCell on a plain family" 1 'INVALID_ARGUMENT.*type mismatch' ebt addtocell T r f:a=1@0
says "bad table name" 1 'INVALID_ARGUMENT' ebt createtable 'no spaces' families=f
says "bad family name" 1 'INVALID_ARGUMENT' ebt createtable U families=a/b
says "bad rule" 2 'usage' ebt setgcpolicy T f maxage=often
says "no rule is not the rule to keep everything" 2 'which rule' ebt setgcpolicy T f force
says "no masters are not others than those that are meant" 2 'masters is empty' ebt --masters= ls
says "split outside" 1 '(INVALID_ARGUMENT|NOT_FOUND|FAILED_PRECONDITION)' ebt split nowhere k
says "unknown command" 2 'no command' ebt sing
says "too few words" 2 'usage' ebt set T
printf ',f\n,x\nr1,1\n' >"$WORK/one.csv"
says "a word given twice" 2 "'start=b': start is given twice" ebt read T start=a start=b
says "a word given twice" 2 "columns is given twice" ebt lookup T keep columns=f:a columns=f:b
says "a word given twice" 2 "families is given twice" ebt createtable TWICE families=f families=g
says "a word given twice" 2 "timestamp is given twice" ebt import T "$WORK/one.csv" timestamp=now timestamp=now
says "branches may have several cells" 0 '' ebt checkandmutate T keep columns=f:none false=f:b=1 false=f:c=1
ebt deletecolumn T keep f b; ebt deletecolumn T keep f c
says "not a cell" 2 'FAMILY:COLUMN' ebt set T r nonsense
says_again "no master there" 1 'UNAVAILABLE.*127.0.0.1:1' ebt --timeout 1 --masters tcp://127.0.0.1:1 ls
says "import of nothing" 1 'No such file' ebt import T /nonexistent
says "too short a timeout is not the default" 1 'no master answers' ebt --timeout 0.0001 --masters tcp://127.0.0.1:1 ls
says "no timeout" 2 'above 0' ebt --timeout 0 ls
for masters in "bogus,$EDUBBA_MASTERS" "$EDUBBA_MASTERS,bogus"; do
    says "a bad address among the masters" 1 '^ebt: INVALID_ARGUMENT: masters: address bogus: must begin with tcp://' ebt --masters "$masters" ls
done
says_again "a host that is not known" 1 'nowhere.invalid:7400: the host.s name cannot be resolved' ebt --timeout 3 --masters tcp://nowhere.invalid:7400 ls
says "help of a command" 0 'ebt set TABLE ROW' ebt set --help
same "in the same words" "$(ebt set --help)" "$(ebt help set)"
same "as JSON" "$(ebt --json set --help)" "$(ebt --json help set)"
says "a row may be called so" 0 '' ebt lookup T --help
printf ',f,nofamily\n,x,y\nr1,1,\nr2,1,\nr3,,2\n' >"$WORK/family.csv"
says "an import names family, line and count" 1 "NOT_FOUND: .*/family.csv:5: .*family not found: 'nofamily'; 2 rows are imported" ebt import T "$WORK/family.csv"
ebt deleterow T r1; ebt deleterow T r2

# complains WHAT EXIT CODE COMMAND...: nothing on stdout, one JSON object with code and message on stderr.
complains() {
    local what=$1 wanted=$2 code=$3 status=0 output
    shift 3
    output=$("$@" 2>"$WORK/stderr" </dev/null) || status=$?
    if [[ $status == "$wanted" && -z $output ]] && python3 - "$WORK/stderr" "$code" <<'PYTHON'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
said = json.loads(lines[0])
sys.exit(len(lines) != 1 or said["code"] != sys.argv[2] or not said["message"] or not set(said) <= {"code", "message", "hint"})
PYTHON
    then ok; else bad "$what: exit $status (wanted $wanted): $(<"$WORK/stderr")"; fi
}
complains "unknown table" 1 NOT_FOUND ebt --json read nowhere
complains "unknown family" 1 NOT_FOUND ebt --json set T r nofamily:a=1
complains "bad key" 1 INVALID_ARGUMENT ebt --json set T "$(big 4097)" f:a=1
complains "a name with quotes" 1 INVALID_ARGUMENT ebt --json createtable 'no "spaces"\' families=f
complains "no master" 1 UNAVAILABLE ebt --json --timeout 1 --masters tcp://127.0.0.1:1 ls
complains "unknown command, JSON asked for behind it" 2 USAGE ebt sing --json
complains "unknown option, JSON asked for behind it" 2 USAGE ebt --sing --json ls
complains "no command" 2 USAGE ebt --json
complains "too few words" 2 USAGE ebt --json set T
complains "no such file" 1 FILE ebt --json import T /nonexistent
printf ',f\n,x\nr1,1,2\n' >"$WORK/bad.csv"
complains "a bad file" 1 FILE ebt --json import T "$WORK/bad.csv"
complains "no folder for the output" 1 FILE ebt --json -o /nonexistent/x ls
complains "no folder for the bundle" 1 FILE ebt --json debug bundle /nonexistent/x

# --- no master: five seconds, not sixty; one that comes meanwhile is waited for ---------------------
elapsed() { local begun=$EPOCHREALTIME; "$@" >/dev/null 2>&1; echo $(((${EPOCHREALTIME/[.,]/} - ${begun/[.,]/}) / 1000)); }
took=$(elapsed ebt --masters tcp://127.0.0.1:1 ls)
if ((took >= 4500 && took < 30000)); then ok; else bad "without a master ebt tried for $took ms"; fi
took=$(elapsed ebt --timeout 7 --masters tcp://127.0.0.1:1 ls)
if ((took >= 6500 && took < 30000)); then ok; else bad "with --timeout 7 ebt tried for $took ms"; fi
says_again "what to do" 1 "127.0.0.1:1: Connection refused" ebt --timeout 0.5 --masters tcp://127.0.0.1:1 ls
says_again "what to do" 1 "quickstart.*--masters" ebt --timeout 0.5 --masters tcp://127.0.0.1:1 ls
for _ in 1 2 3 4; do # (On a busy machine the start may take longer than is waited.)
    kill_hard master
    ebt ls >"$WORK/waited" 2>"$WORK/waiting" & waiting=$!
    await "it is said that it waits" 60 test -s "$WORK/waiting"
    start_master
    wait $waiting; status=$?
    ((status == 0)) && break
done
same "a master that restarts is waited for" "$status $(<"$WORK/waited")" "0 T"
grep -q "^ebt: waiting, for 5 s at most (--timeout): .*127.0.0.1:$PORT: Connection refused" "$WORK/waiting" && ok || bad "what is waited for is not said: $(<"$WORK/waiting")"

# --- what a call waits for is said, once, and again where it fails ----------------------------------
await "its server is back" 60 eval 'ebt --json servers | grep -q "\"alive\":true"'
# asked [OPTION...]: for more copies than there can be.  (Where the machine lets it run too seldom in these seconds, or lets the
# master, it has no time to say what it waits for: then once more.)
asked() {
    for _ in 1 2 3 4 5; do
        ebt "$@" --timeout 4 createtable MORE families=f replicas=3 >"$WORK/waited" 2>&1
        grep -q "waiting.*$reason" "$WORK/waited" && return
    done
}
reason="3 replicas need healthy stores on 3 .*: of 1 that are alive 0 have one. Start more, or ask for fewer replicas"
asked
grep -qE "^ebt: waiting, for 4 s at most \(--timeout\): $reason" "$WORK/waited" && [[ $(grep -c waiting, "$WORK/waited") == 1 ]] && ok || bad "too few servers: $(<"$WORK/waited")"
grep -qE "^ebt: DEADLINE_EXCEEDED: .*; the last attempt: $reason" "$WORK/waited" && ok || bad "too few servers, the end: $(<"$WORK/waited")"
asked --json
head -n 1 "$WORK/waited" | grep -qE "^\{\"waiting\":\"$reason\"\}$" && ok || bad "what is waited for, as JSON: $(<"$WORK/waited")"
says_again "too few servers, said before two seconds are over" 1 "^ebt: DEADLINE" ebt --timeout 1 createtable MORE families=f replicas=3

# --- wire: garbage, truncated, oversized; the server goes on ------------------------------------
python3 - "$((PORT + 1))" "$PORT" <<'PYTHON'
import os, socket, struct, sys
for port in map(int, sys.argv[1:]):
    for junk in (b"GET / HTTP/1.0\r\n\r\n", os.urandom(4096), b"\x00" * 100,
                 struct.pack("<IBBHQI", 0xffffffff, 3, 0, 1, 1, 0),
                 struct.pack("<IBBHQI", 1 << 19, 1, 0, 0, 0, 0) + b"x" * 100, b"", b"\x01"):
        s = socket.create_connection(("127.0.0.1", port), timeout=5)
        s.settimeout(2)
        try:
            s.sendall(junk)
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except OSError:
            pass
        s.close()
PYTHON
same "served after garbage" "$(ebt --json lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'

# --- connections by the thousand that say nothing: served beside them, and their memory comes back -
mib_of() { echo $(($(sed -nE 's/^VmRSS:\s+([0-9]+) kB/\1/p' "/proc/$(pid_of "$1")/status") / 1024)); }
declare -A mib_before=([master]=$(mib_of master) [server1]=$(mib_of server1))
python3 - "$((PORT + 1))" "$PORT" >"$WORK/flood" <<'PYTHON' &
import resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
for round in range(4):
    sockets = []
    for _ in range(1500):
        for port in map(int, sys.argv[1:]):
            try:
                s = socket.socket()
                sockets.append(s)
                s.connect(("127.0.0.1", port))
            except OSError:
                break
    print(len(sockets), flush=True)
    if round == 3:
        socket.create_connection(("127.0.0.1", int(sys.argv[2]))).recv(1)  # until it is given up: five seconds
    for s in sockets:
        s.close()
PYTHON
flood=$!
await "thousands are there" 120 eval '[[ $(wc -l <"$WORK/flood") -ge 4 ]]'
same "served beside them" "$(ebt --json --timeout 60 lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'
wait $flood
is_small_again() { (($(mib_of "$1") < mib_before[$1] + 24)); }
for name in master server1; do await "$name gives their memory back: $(mib_of $name) MiB, ${mib_before[$name]} before" 60 is_small_again $name; done

# --- configuration ----------------------------------------------------------------------------
printf 'address = "tcp://127.0.0.1:0";\nadress = "x";\n' >"$WORK/bad.conf"
says "unknown key" 2 'bad.conf:2.*adress' "$SERVER" --config "$WORK/bad.conf" --check-config
printf '\nmemory_limit = "lots";\n' >"$WORK/bad.conf"
says "bad value" 2 'bad.conf:2.*memory_limit' "$SERVER" --config "$WORK/bad.conf" --check-config
printf 'masters = "127.0.0.1:7400";\nadress = "x";\nlog = {\n  level = "loud";\n};\n' >"$WORK/bad.conf"
same "all that is wrong, with its place" \
    "$("$SERVER" --config "$WORK/bad.conf" --set memory_limit=lots --check-config 2>&1 | grep -oE '(bad.conf:[0-9]+|command line): (unknown key .adress|[a-z_.]+)' | tr '\n' ';')" \
    "bad.conf:2: unknown key 'adress;command line: memory_limit;bad.conf:4: log.level;bad.conf:1: masters;"
printf 'address = \n' >"$WORK/bad.conf"
says "bad syntax" 2 'bad.conf:[0-9]+' "$MASTER" --config "$WORK/bad.conf" --check-config
says "no such file" 2 'nonexistent.conf' "$MASTER" --config "$WORK/nonexistent.conf"
says "unknown option" 2 'sing' "$MASTER" --sing
says "good files" 0 '' "$SERVER" --config "$ROOT/conf/tabletserver.conf" --check-config
says "good files" 0 '' "$MASTER" --config "$ROOT/conf/master.conf" --check-config
# keys DAEMON: all that it knows
keys() { "$1" --help | sed -nE 's/^  ([a-z_.]+) = .*$/\1/p'; }
# settings_of FILE: the keys that stand there, commented out, with the groups they are in
settings_of() {
    awk '/^#[a-z_]+ = \{$/ { group = substr($1, 2) "."; next }
        /^#\};/ { group = "" }
        /^#[a-z_]+ = \{.+\};$/ { name = substr($1, 2); while (match($0, /[{;] *[a-z_]+ = /)) { key = substr($0, RSTART, RLENGTH); gsub(/[^a-z_]/, "", key); print name "." key; $0 = substr($0, RSTART + RLENGTH) }; next }
        group != "" && /^#    [a-z_]+ = / { print group $2 }
        group == "" && /^#[a-z_]+ = / { print substr($1, 2) }' "$1" | sort
}
# settings_told DAEMON: those that the tables of its section of docs/configuration.md name
settings_told() {
    sed -n "/^## $1\$/,/^## /p" "$ROOT/docs/configuration.md" | awk -F '|' '/^\|/ && NF > 4 { print $2 }' | grep -oE '`[a-z_.]+`' | tr -d '`' | sort
}
for daemon in master tabletserver; do
    program=$BUILD/$daemon/edubba-$daemon
    same "conf/$daemon.conf has every key, and no other" "$(settings_of "$ROOT/conf/$daemon.conf")" "$(keys "$program" | sort)"
    same "and docs/configuration.md, too" "$(settings_told "edubba-$daemon")" "$(keys "$program" | sort)"
done
# defaults_differ FILE DAEMON: the keys whose value in the file is another than the daemon's own, each with both.
defaults_differ() {
    "$2" --help | python3 -c '
import re, sys
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
def meant(value):
    value = re.sub(r"\s+", "", value.strip()).strip("\"")
    unit = re.fullmatch(r"(\d+)(\w+)", value)
    return str(int(unit[1]) * UNITS[unit[2]]) if unit and unit[2] in UNITS else value
told = {key: meant(value) for key, value in re.findall(r"^  ([a-z_.]+) = (.*)$", sys.stdin.read(), re.M)}
group, known = "", 0
for line in open(sys.argv[1]):
    line = re.sub(r"  +#.*", "", line.rstrip())
    if re.fullmatch(r"#[a-z_]+ = \{", line):
        group = line[1:-4] + "."
        continue
    if line == "#};":
        group = ""
        continue
    inner = re.fullmatch(r"#([a-z_]+) = \{(.+)\};", line)
    for key, value in ([(inner[1] + "." + k, v) for k, v in re.findall(r"([a-z_]+) = ([^;]+);", inner[2])] if inner
                       else [(group + k, v) for k, v in re.findall(r"^#(?:    )?([a-z_]+) = (.+);$", line)]):
        known += 1
        if told[key] != meant(value):
            print(f"{key}: {meant(value)}, {told[key]}")
if known != len(told):
    print(f"{known} of {len(told)} keys")' "$1"
}
same "there are some" "$(($(keys "$MASTER" | grep -c '^balance\.') >= 29))" 1
# told_defaults_differ DAEMON BINARY: the same of the tables of docs/configuration.md, where a default is a value and no sentence.
told_defaults_differ() {
    "$2" --help | python3 -c '
import re, sys
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
def meant(value):
    value = re.sub(r"[\s`\"\[\]]", "", {"empty": "", "none": ""}.get(value.strip(), value))
    unit = re.fullmatch(r"(\d+)(\w+)", value)
    return str(int(unit[1]) * UNITS[unit[2]]) if unit and unit[2] in UNITS else value
is_set = {key: meant(value) for key, value in re.findall(r"^  ([a-z_.]+) = (.*)$", sys.stdin.read(), re.M)}
section = re.search(rf"^## {sys.argv[2]}\n(.*?)^## ", open(sys.argv[1]).read(), re.M | re.S)[1]
known = 0
for keys, values in re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", section, re.M):
    keys, values = re.findall(r"`([a-z_.]+)`", keys), values.split(", ")
    if len(values) == 1 and values[0] == "empty":
        values *= len(keys)
    if len(keys) != len(values) or re.search(r"[a-z] [a-z]|[a-z]`", re.sub(r"`[^`]*`", "", ", ".join(values))):
        continue
    for key, value in zip(keys, values):
        known += 1
        if is_set[key] != meant(value):
            print(f"{key}: {meant(value)}, {is_set[key]}")
if known + 4 < len(is_set):
    print(f"{known} of {len(is_set)} keys")' "$ROOT/docs/configuration.md" "$1"
}
DAEMONS=(master tabletserver)
[[ ! -x $BUILD/gateway/edubba-gateway ]] || DAEMONS+=(gateway)
for daemon in "${DAEMONS[@]}"; do
    none "the table of edubba-$daemon in docs/configuration.md has the defaults" "$(told_defaults_differ "edubba-$daemon" "$BUILD/$daemon/edubba-$daemon")"
    none "conf/$daemon.conf has the defaults" "$(defaults_differ "$ROOT/conf/$daemon.conf" "$BUILD/$daemon/edubba-$daemon")"
done
sed -E 's/^#(.* = .*|\};|[a-z]+ = \{)$/\1/' "$ROOT/conf/master.conf" | grep -v '^#' | sed -n '/^balance = {/,/^};/p' >"$WORK/balance.conf"
says "what stands there is allowed" 0 'good' "$MASTER" --config "$WORK/balance.conf" --check-config
# refused WHAT PATTERN SETTING...: by either daemon, in the same words at the start and by --check-config.
refused() {
    local what=$1 pattern=$2 settings=() daemon said
    shift 2
    for setting in "$@"; do settings+=(--set "$setting"); done
    for daemon in "$SERVER" "$MASTER"; do
        says "$what" 2 "$pattern" "$daemon" --set "folder=$WORK/other" "${settings[@]}"
        says "$what" 2 "$pattern" "$daemon" --set "folder=$WORK/other" "${settings[@]}" --check-config
        said=$("$daemon" --set "folder=$WORK/other" "${settings[@]}" 2>&1)
        same "$what" "$("$daemon" --set "folder=$WORK/other" "${settings[@]}" --check-config 2>&1)" "$said"
    done
}
refused "not loopback" 'tcp://0.0.0.0:0 can be reached by other machines.*insecure' address=tcp://0.0.0.0:0 http.address=127.0.0.1:0
refused "HTTP not on loopback" 'http.address: .*0.0.0.0:0 can be reached.*insecure' address=tcp://127.0.0.1:0 http.address=0.0.0.0:0
for daemon in "$SERVER" "$MASTER"; do
    says "an empty folder" 2 'command line: folder must name a folder' "$daemon" --set folder= --check-config
done
says "an empty folder of a store" 2 'stores: each must name a folder' "$SERVER" --set stores=/disk1, --check-config
refused "no scheme" '127.0.0.1:7400: must begin with tcp://' address=127.0.0.1:7400 http.address=127.0.0.1:0
refused "no port" 'tcp://127.0.0.1: .*port' address=tcp://127.0.0.1 http.address=127.0.0.1:0
refused "too large a port" 'tcp://127.0.0.1:65536: .*port' address=tcp://127.0.0.1:65536 http.address=127.0.0.1:0
refused "no port for HTTP" 'http.address: .*localhost: .*port' address=tcp://127.0.0.1:0 http.address=localhost
refused "a port that is no number" 'http.address: .*127.0.0.1:http: .*port' address=tcp://127.0.0.1:0 http.address=127.0.0.1:http
says "masters that are no addresses" 2 'masters: .*tcp://x' "$SERVER" --set masters=tcp://127.0.0.1:1,tcp://x --check-config
says "no masters" 2 'masters: no address' "$SERVER" --set masters=, --check-config
says "too many stores" 2 'stores: 17 folders, at most 16' "$SERVER" --set "stores=$(printf '%s,' {1..16})17" --check-config
says "a store twice" 2 'stores: /disk1 is named twice' "$SERVER" --set stores=/disk1,/disk2,/disk1 --check-config
for zone in $'a\nb' $'\xff' "$(big 129)"; do says "a zone that cannot be shown" 2 'zone: .*128' "$SERVER" --set "zone=$zone" --check-config; done
says "the longest zone" 0 good "$SERVER" --set "zone=$(big 128)" --check-config
for key in ca certificate key; do
    says "a file for etcd that is not there" 2 "etcd.$key: /nonexistent cannot be read: No such file" "$MASTER" --set coordinator=etcd --set "etcd.$key=/nonexistent" --check-config
done
says "a pause in which servers would be lost" 2 'sync.interval_quick: .*750 ms' "$MASTER" --set "sync.interval_quick=30 s" --check-config
says "memtables larger than all together" 2 'memtable_limit' "$SERVER" --set "memory_limit=64 MiB" --set "memtable_limit=65 MiB" --check-config
says "a small memory_limit alone" 0 'good' "$SERVER" --set "memory_limit=1 MiB" --check-config
says "advertise that is no address" 2 'advertise: .*tcp://host' "$SERVER" --set advertise=tcp://host --check-config
says "not loopback, but meant" 0 'good' "$SERVER" --set address=tcp://0.0.0.0:0 --set advertise=tcp://server-7:7401 --set http.address=0.0.0.0:0 --set insecure=true --check-config
says "on every address, and no word where others reach it" 2 'advertise: nobody can dial tcp://0.0.0.0:0: ' "$SERVER" --set address=tcp://0.0.0.0:0 --set insecure=true --check-config
says "advertise that nobody can dial" 2 'advertise: .*tcp://0.0.0.0:7401' "$SERVER" --set advertise=tcp://0.0.0.0:7401 --check-config
says "advertise that nobody can dial" 2 'advertise: .*tcp://0.0.0.0:7400' "$MASTER" --set advertise=tcp://0.0.0.0:7400 --check-config
says "not loopback, but meant" 0 'good' "$MASTER" --set address=tcp://0.0.0.0:0 --set http.address=0.0.0.0:0 --set insecure=true --check-config
says "port in use" 1 "$((PORT + 1))" "$SERVER" --set "folder=$WORK/other" --set "address=tcp://127.0.0.1:$((PORT + 1))" --set "http.address=127.0.0.1:0"
says "master's port in use" 1 "$PORT" "$MASTER" --set "folder=$WORK/otherm" --set "address=tcp://127.0.0.1:$PORT" --set "http.address=127.0.0.1:0"
says "a master that is no address" 2 "masters: .*foo" "$SERVER" --set "folder=$WORK/other" --set "address=tcp://127.0.0.1:0" --set "http.address=127.0.0.1:0" --set masters=foo
says "folder in use" 1 "$WORK/server1" "$SERVER" --set "folder=$WORK/server1" --set "address=tcp://127.0.0.1:0" --set "http.address=127.0.0.1:0"

# --- data directories -------------------------------------------------------------------------
stop_soft server1
cp -a "$WORK/server1" "$WORK/newer"
python3 - "$WORK/newer/store/STORE" <<'PYTHON'
import sys
# The identity file of a version that is not there yet: see docs/storage-format.md.
path = sys.argv[1]
data = open(path, "rb").read()
open(path, "wb").write(data.replace(b"format 1", b"format 99") if b"format 1" in data else b"\xff" * len(data))
PYTHON
says "a newer directory" 1 'newer' "$SERVER" --set "folder=$WORK/newer" --set "address=tcp://127.0.0.1:0" --set "http.address=127.0.0.1:0"
start_server 1
same "nothing is lost" "$(ebt --json lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'

# --- an identity that decayed: the page says what makes it good again -------------------------------
stop_soft server1
number_of_first() { ebt --json servers | grep -F "tcp://127.0.0.1:$((PORT + 1))\"" | grep -oE '"server":"[0-9]+' | grep -oE '[0-9]+$'; }
number=$(number_of_first)
mend=$(grep -oE 'echo server 6426842121252440231 incarnation 1 >SERVER' "$ROOT/docs/operations.md")
printf 'server x\n' >"$WORK/server1/SERVER"
says "an identity that decayed" 1 'SERVER: not the identity of a server.*Files that say who is who' "$SERVER" --set "folder=$WORK/server1" --set "address=tcp://127.0.0.1:0" --set "http.address=127.0.0.1:0"
(cd "$WORK/server1" && eval "${mend/6426842121252440231/$number}")
start_server 1
same "it is who it was" "$(ebt --json lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'
same "and no other" "$(number_of_first)" "$number"

# --- a wiped disk -----------------------------------------------------------------------------
stop_soft server1; mv "$WORK/server1/store" "$WORK/wiped"; start_server 1
for _ in $(seq 600); do ebt tablets T | grep -q unavailable && break; sleep 0.1; done
says "a tablet whose data is gone is unavailable" 0 'unavailable' ebt tablets T
says "and not recreated empty" 1 '(UNAVAILABLE|DEADLINE)' ebt --timeout 2 lookup T keep
says_again "nor is it split: it is asked again, and nothing is ordered" 1 'DEADLINE_EXCEEDED.*the last attempt: tablet [0-9]+ is unavailable' ebt --timeout 2 split T k
same "nothing is" "$(ebt tablets T | grep -c '^[0-9]')" 1
stop_soft server1; rm -rf "$WORK/server1/store"; mv "$WORK/wiped" "$WORK/server1/store"; start_server 1
for _ in $(seq 600); do ebt tablets T | grep -q serving && break; sleep 0.1; done
same "it is back with its data" "$(ebt --json lookup T keep)" '{"key":"keep","cells":[{"family":"f","column":"a","timestamp":1000,"value":"1"}]}'

finish

#!/usr/bin/env bash
# edubba-load lab against real processes: every experiment in a short form, what its reports hold, what its
# verdicts name, what it leaves behind, what it refuses.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
cluster_begin 3
LOAD=$BUILD/client/load/edubba-load
mkdir "$WORK/pages"
lab() { (cd "$WORK/pages" && "$LOAD" lab --quiet "$@"); } # where pages may be written
# eventually WHAT COMMAND...: it succeeds within a minute.
eventually() {
    local what=$1 i
    shift
    for ((i = 0; i < 1200; i++)); do "$@" && ok && return; sleep 0.05; done
    bad "$what"
}
SECONDS_OF_WRITES=${SECONDS_OF_WRITES:-1}

# --- every experiment ---------------------------------------------------------------------------
experiments=$("$LOAD" lab --list | cut -d' ' -f1)
same "their names" "$(echo $experiments)" "battery quote metric columns sensor balloon donations celebrity garden games"
# What a verdict says of shares and of rows that grow takes so many writes: where a sync took all of the time, once more, longer.
# So too where the machine stood still for so long that a server counted as gone.
has_written() { python3 -c '
import json, sys
result = json.load(open(sys.argv[1]))
sys.exit(len(result["servers"]) < 3 or any(v["write"]["operations"] < 500 for v in result["variants"]))' "$WORK/$1.json"; }
for name in $experiments; do
    for times in 1 4 8; do
        lab "$name" --duration $((SECONDS_OF_WRITES * times)) --records 4000 --json "$WORK/$name.json" --html "$WORK/$name.html" >"$WORK/$name.text" 2>"$WORK/errors" ||
            { bad "lab $name: $(cat "$WORK/errors" "$WORK/$name.text" | head -c 600)"; break; }
        has_written "$name" && break
    done
    none "nothing is said beside the report of $name" "$(cat "$WORK/errors")"
done
same "no table is left" "$(ebt ls | grep -c '^LAB_')" 0

# figures FILE...: what must be so in every report; a line for each that is not.
figures() {
    python3 - "$@" <<'PYTHON'
import json, re, sys

FAULTS = {  # of which variant which faults must be named; of all others of these kinds none
    ("battery", "by time"): {"monotonic", "looks_at_much"},
    ("battery", "promoted"): {"looks_at_much"},
    ("battery", "salted"): {"looks_at_much"},
    ("quote", "by time"): {"monotonic", "looks_at_much"},
    ("quote", "by symbol"): set(),
    ("metric", "by time"): {"monotonic", "looks_at_much"},
    ("metric", "long names"): {"heavy"},
    ("metric", "current"): set(),
    ("columns", "row a metric"): {"heavy"},
    ("columns", "row a moment"): {"looks_at_cells"},
    ("columns", "families"): set(),
    ("columns", "prefix"): set(),
    ("columns", "bucket"): set(),
    ("sensor", "by date"): {"hot_range"},
    ("sensor", "by meter"): {"looks_at_much"},
    ("donations", "read-modify-write"): {"reads_first"},
    ("donations", "aggregate"): set(),
    ("celebrity", "plain"): {"popular_series"},
    ("celebrity", "salted by series"): {"popular_series"},
    ("celebrity", "salted by key"): set(),
    ("garden", "versions"): {"growing_row"},
    ("garden", "tall and narrow"): set(),
    ("garden", "short and wide"): set(),
    ("games", "by date"): {"monotonic", "looks_at_much"},
    ("games", "by player"): {"looks_at_much", "gives_much"},
    ("games", "reversed time"): {"looks_at_much", "gives_much"},
    ("games", "backwards"): {"looks_at_much"},
    ("balloon", "serialised"): {"gives_much"},
    ("balloon", "unserialised"): {"heavy"},
}
passed = 0


def look(what, good):
    global passed
    passed += bool(good)
    if not good:
        print("FAILED:", what)


for path in sys.argv[1:]:
    result = json.load(open(path))
    name = result["experiment"]
    look(f"{name} has three servers", len(result["servers"]) == 3)
    look(f"{name} was not interrupted", not result["interrupted"])
    look(f"{name} compares its variants: {result['verdict']}", "×" in result["verdict"])
    for variant in result["variants"]:
        of = f"{name}, {variant['name']}"
        write = variant["write"]
        look(f"{of}: {variant['failure']}", variant["failure"] == "")
        look(f"{of}: errors: {write['first_error']}", write["errors"] == 0)
        look(f"{of} wrote", write["operations"] > 20)
        look(f"{of} has latencies", 0 < write["p50_us"] <= write["p99_us"] <= write["max_us"])
        look(f"{of}: shares of servers", abs(sum(s["share"] for s in write["servers"]) - 1) < 1e-4)
        look(f"{of}: shares of tablets", abs(sum(t["share"] for t in write["tablets"]) - 1) < 1e-4)
        look(f"{of}: servers are known", {s["server"] for s in write["servers"]} <= {s["server"] for s in result["servers"]})
        look(f"{of}: moments", write["moments"] and all(a["to_s"] <= b["from_s"] + 1e-6 for a, b in zip(write["moments"], write["moments"][1:])))
        look(f"{of}: operations of moments", sum(m["operations"] for m in write["moments"]) == write["operations"])
        rows = sum(sum(m["by_tablet"]) for m in write["moments"])
        look(f"{of}: rows by tablet, {rows} of {write['rows']}", rows == write["rows"])
        look(f"{of}: a place for each tablet", all(len(m["by_tablet"]) == len(write["maps"][m["map"]]) for m in write["moments"]))
        look(f"{of}: splits are seen", len(write["maps"][-1]) - len(write["maps"][0]) == write["splits"] - write["merges"])
        look(f"{of}: says something: {variant['verdict']}", len(variant["verdict"]) > 20)
        wanted = FAULTS.get((name, variant["name"]))
        # On a slow machine a query may not even end: what a schema is blamed for besides hangs on that.
        got = {"looks_at_much" if fault == "no_answer" else fault for fault in variant["faults"]}
        slow = {"looks_at_much"} if "no_answer" in variant["faults"] else set()
        look(f"{of}: faults {sorted(got)}, wanted {wanted and sorted(wanted)}: {variant['verdict']}",
             wanted is None or wanted <= got <= wanted | slow)
        decided = variant["decided"]  # whether there is anything to decide in so short a run is the cluster's
        kinds = {"splits", "merges", "moves", "hand_overs", "others"}
        look(f"{of}: kinds of decisions {sorted(decided)}", set(decided) == kinds | {"refusals"})
        look(f"{of}: decisions are counted: {decided}",
             all(set(decided[k]) == {"count", "done", "given_up"} and 0 <= decided[k]["done"] + decided[k]["given_up"] <= decided[k]["count"] for k in kinds))
        look(f"{of}: refusals are counted: {decided}", all(type(n) is int and n > 0 for n in decided["refusals"].values()))
        hot = {"monotonic", "popular_row", "popular_series", "hot_range"} & set(variant["faults"])
        _, says, reasons = variant["verdict"].partition("splitting refused: ")
        look(f"{of}: refusals in its verdict: {decided}: {variant['verdict']}",
             not says or hot and set(re.split(r"[;:]", reasons)[0].split(", ")) <= set(decided["refusals"]))
        for query in variant["queries"]:
            look(f"{of}: {query['name']}: {query['first_error']}", query["errors"] == 0)
        copied = result["history"] // 10 if (name, variant["name"]) == ("sensor", "by meter") else 0
        look(f"{of}: {variant['copied_rows']} rows copied, not {copied}", variant["copied_rows"] == copied)
        if name == "donations":
            look(f"{of}: sums", variant["sums_checked"] > 50 and variant["sums_wrong"] == 0)
        else:
            look(f"{of}: no sums", variant["sums_checked"] == 0)
by = {v["name"]: v for v in json.load(open(next(p for p in sys.argv[1:] if "battery" in p)))["variants"]}
look("BATTERY#TS is named", "BATTERY#TS grows at its end only" in by["by time"]["verdict"])
look("and its cure", "promote USER in front of the time, or salt" in by["by time"]["verdict"])
look("salts have three ends", 0.25 < by["salted"]["write"]["busiest_tablet"] < 0.5)
# What the servers looked at hangs on no machine's speed: cells of a query for the processors, by variant.
columns = json.load(open(next(p for p in sys.argv[1:] if "columns" in p)))["variants"]
cells = {v["name"]: v["queries"][0]["cells_looked_at"] / v["queries"][0]["operations"] for v in columns}
look(f"of a row of one family all is looked at: {cells}", 3.9 < cells["row a moment"] / cells["row a metric"] < 4.1)
look(f"and of one with families less: {cells}", cells["families"] < cells["row a moment"] / 2)
look(f"a beginning of names does what a family does: {cells}", 0.95 < cells["prefix"] / cells["families"] < 1.05)
print(f"PASSED {passed}")
PYTHON
}
for name in $experiments; do reports+=("$WORK/$name.json"); done
figures "${reports[@]}" >"$WORK/figures"
grep '^FAILED' "$WORK/figures" && FAILED=$((FAILED + $(grep -c '^FAILED' "$WORK/figures")))
PASSED=$((PASSED + $(sed -n 's/^PASSED //p' "$WORK/figures")))

# --- text and page ------------------------------------------------------------------------------
says "the text tells the copies" 0 '3 servers; 1 copy of each tablet; 64 requests' cat "$WORK/battery.text"
says "the text has the table" 0 'one tablet +one server' cat "$WORK/battery.text"
says "and the verdict" 0 'BATTERY#TS grows at its$|BATTERY#TS grows at its end' cat "$WORK/battery.text"
for name in $experiments; do
    same "the page of $name fetches nothing" "$(grep -cE '(src|href)="?(https?:)?//|url\(|@import|<link' "$WORK/$name.html")" 0
    says "the page of $name is whole" 0 '^</html>$' cat "$WORK/$name.html"
done

# none_of_battery: no variant can be run, as tables of their names are others'.
none_of_battery() {
    local status=0 variant
    for variant in by-time promoted salted; do ebt createtable "LAB_battery_$variant" families=precious; done
    lab battery --duration 0.3 --records 500 || status=$?
    for variant in by-time promoted salted; do ebt deletetable "LAB_battery_$variant"; done
    return $status
}

# --- a page that nobody has asked for by name ---------------------------------------------------
lab battery --duration 0.3 --records 500 >"$WORK/unasked" 2>"$WORK/errors" || bad "a page by itself: $(cat "$WORK/errors")"
says "it is whole" 0 '^</html>$' cat "$WORK/pages/lab-battery.html"
says "and named at the end" 0 '^The page, with charts: lab-battery.html' tail -n 1 "$WORK/unasked"
rm -f "$WORK/pages/lab-battery.html"
says "none is wanted" 0 'compared with' lab battery --duration 0.3 --records 500 --html none
says "nor with figures for a program" 0 '"experiment"' lab battery --duration 0.3 --records 500 --format json
none "so there is none" "$(ls "$WORK/pages")"
mkdir "$WORK/pages/lab-battery.html"
says "one that cannot be written is no failure" 0 'warning: the page lab-battery.html cannot be written here: .*--html FILE' lab battery --duration 0.3 --records 500
rmdir "$WORK/pages/lab-battery.html"
echo precious >"$WORK/pages/lab-battery.html"
says "of a run that came to nothing there is none" 1 'that the lab did not make' none_of_battery
same "and one that was there stays" "$(cat "$WORK/pages/lab-battery.html")" precious

# --- how it runs --------------------------------------------------------------------------------
lab battery --duration 0.5 --records 500 --format json --rate 500 --clients 2 >"$WORK/rate.json" 2>"$WORK/errors" || bad "open loop: $(cat "$WORK/errors")"
says "an open loop keeps its rate" 0 '' python3 -c "
import json
for v in json.load(open('$WORK/rate.json'))['variants']:
    assert 20 < v['write']['per_second'] < 520, v['write']['per_second']" # slower than asked for where the machine is, never faster
says "one tablet" 0 'tcp://.* 100.0 %' lab battery --duration 0.3 --records 500 --presplit 1 --keep
says "and names what it keeps" 0 ' kept: LAB_battery_by-time LAB_battery_' lab battery --duration 0.3 --records 500 --presplit 1 --keep
same "--keep leaves the tables" "$(ebt ls | grep -c '^LAB_battery_')" 3
same "of one copy" "$(ebt --json ls LAB_battery_salted | grep -o '"replicas":[0-9]*,"min_in_sync":[0-9]*')" '"replicas":1,"min_in_sync":1'
says "what was left is dropped" 0 'compared with' lab battery --duration 0.3 --records 500
same "and not left again" "$(ebt ls | grep -c '^LAB_')" 0
ebt createtable LAB_battery_by-time families=precious
says "a table of that name that is another's" 1 'that the lab did not make' lab battery --duration 0.3 --records 500
same "is untouched" "$(ebt ls | grep '^LAB_')" LAB_battery_by-time
ebt deletetable LAB_battery_by-time

# --- another run of the same --------------------------------------------------------------------
tablets_of_quote() { ebt tablets LAB_quote_by-time 2>/dev/null | grep -c '^[0-9].* serving '; }
first_of_quote() { ebt tablets LAB_quote_by-time 2>/dev/null | grep -oE -m 1 '^[0-9]+'; }
is_served() { [[ $(tablets_of_quote) -ge 6 ]]; }
is_of_another() { is_served && [[ $(first_of_quote) != "$tablet" ]]; }
"$LOAD" lab quote --quiet --html none --duration 60 --records 500 --rate 100 >"$WORK/first.text" 2>&1 &
pid=$!
eventually "the table of a first run" is_served
tablet=$(first_of_quote)
sleep 1 # its history is there, and it asks
"$LOAD" lab quote --quiet --html none --duration 60 --records 500 --rate 100 >"$WORK/second.text" 2>&1 &
second=$!
eventually "the table of a second one in its place" is_of_another
kill -INT $pid
wait $pid
says "who is left without a table is told why" 0 'its table was dropped while it ran: does another run of this experiment go on' \
    bash -c "tr -s ' \n' ' ' <'$WORK/first.text'"
same "and leaves the table of the other alone" "$(ebt ls | grep '^LAB_')" LAB_quote_by-time
kill -INT $second
wait $second
same "whose run goes on to its end" "$(grep -c 'was dropped while it ran' "$WORK/second.text")" 0
same "nothing is left of both" "$(ebt ls | grep -c '^LAB_')" 0

# --- a master that is gone at the end -----------------------------------------------------------
"$LOAD" lab garden --quiet --html none --duration 4 --records 500 --timeout 5 >"$WORK/gone.text" 2>"$WORK/errors" &
pid=$!
eventually "the last table" bash -c "'$BUILD/client/cli/ebt' tablets LAB_garden_short-and-wide 2>/dev/null | grep -c ' serving ' | grep -q 6"
sleep 1 # its history is there
kill_hard master
wait $pid
says "a table that cannot be dropped is named" 0 'warning: the table LAB_garden_short-and-wide is left' cat "$WORK/errors"
says "what was found is told all the same" 0 'short and wide GARDEN#YYYYMM [^:]* writes are spread' \
    bash -c "tr -s ' \n' ' ' <'$WORK/gone.text'"
start_master
says "the servers of a master that has just started are waited for" 0 'compared with' lab battery --duration 0.3 --records 500
ebt deletetable LAB_garden_short-and-wide

# --- on a terminal ------------------------------------------------------------------------------
# What comes to a terminal of 60 columns before the report: no line of progress is longer.
cat >"$WORK/narrow.py" <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24, 60, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1], "lab", "celebrity", "--html", "none", "--output", "/dev/null", "--duration", "1", "--records", "500"])
seen = b""
try:
    while piece := os.read(terminal, 65536):
        seen += piece
except OSError:  # it has ended
    pass
os.waitpid(pid, 0)
lines = [line for line in re.split(rb"\r(?:\x1b\[K)?", seen) if line.startswith(b"celebrity, ")]
long = [line for line in lines if len(line) > 60]
print(f"{len(lines)} lines,", "none above 60" if not long else f"above 60: {long[0]}")
PYTHON
says "the line of progress has room on a narrow terminal" 0 '^[1-9][0-9]* lines, none above 60$' python3 "$WORK/narrow.py" "$LOAD"

# --- Ctrl-C -------------------------------------------------------------------------------------
setsid "$LOAD" lab quote --quiet --html none --duration 60 --records 500 --json "$WORK/interrupted.json" >"$WORK/interrupted.text" 2>"$WORK/errors" &
pid=$!
eventually "the table of an experiment that runs" bash -c "'$BUILD/client/cli/ebt' ls | grep -q '^LAB_quote'"
sleep 1
kill -INT $pid
sleep 0.05
kill -INT $pid # as `timeout` does it: to the child, and to its group
wait $pid
same "interrupted, it says so by its status" $? 130
says "and tells what it has" 0 'INTERRUPTED' cat "$WORK/interrupted.text"
says "its JSON, too" 0 '' python3 -c "import json; assert json.load(open('$WORK/interrupted.json'))['interrupted']"
same "and leaves nothing" "$(ebt ls | grep -c '^LAB_')" 0

# --- confinement --------------------------------------------------------------------------------
grouped() { [[ $(groups) == "$1" ]]; }
groups() { find /sys/fs/cgroup -maxdepth 2 -name 'edubba-lab-*' 2>/dev/null | wc -l; }
before=$(groups)
home=$(cat "/proc/$(pid_of server1)/cgroup")
lab battery --duration 0.4 --records 500 --confine 0.5 >"$WORK/confined" 2>"$WORK/errors" || bad "--confine: $(cat "$WORK/errors")"
if grep -q '3 tablet servers had 0.5 CPU each' "$WORK/confined"; then
    ok
    same "the groups are gone" "$(groups)" "$before"
    same "the servers are back where they were" "$(cat "/proc/$(pid_of server1)/cgroup")" "$home"
    lab battery --duration 0.3 --records 500 --confine "$(nproc)" >"$WORK/wide" 2>"$WORK/errors"
    says "shares that confine nobody are warned of" 0 'warning: --confine .* they still share them' cat "$WORK/errors"
    says "and the report says so" 0 'CPU each, all that the [0-9]+ processors here have' cat "$WORK/wide"
    "$LOAD" lab quote --quiet --html none --duration 60 --confine 0.5 --server-pids "$(pid_of server1),$(pid_of server2)" >/dev/null 2>&1 &
    pid=$!
    eventually "two groups" grouped $((before + 2))
    sleep 0.2
    kill -KILL $pid
    wait $pid 2>/dev/null
    eventually "killed, it leaves no group" grouped "$before"
    same "nor a server in one" "$(cat "/proc/$(pid_of server1)/cgroup")" "$home"
else
    says "without the right to confine it says so" 0 'not confined' cat "$WORK/errors" "$WORK/confined"
fi

# As another user: not that there were no servers.  (It needs a way to become one, and to read what was built.)
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if [[ $(id -u) == 0 ]] && other "$LOAD" --version >/dev/null 2>&1; then
    other "$LOAD" lab battery --quiet --html none --duration 0.3 --records 500 --confine 0.5 >"$WORK/other" 2>"$WORK/errors"
    says "another user is told what it takes" 0 'not confined: 3 tablet servers of this machine run as another user: .* takes root' \
        cat "$WORK/errors"
    says "and the report says so" 0 'not confined: 3 tablet servers' cat "$WORK/other"
    other "$LOAD" lab battery --quiet --html none --duration 0.3 --records 500 >"$WORK/other" 2>&1
    says "that servers share the machine it sees all the same" 0 'the servers share one machine and are not confined' cat "$WORK/other"
    other "$LOAD" lab battery --quiet --html none --duration 0.3 --records 500 --confine 0.5 --server-pids "$(pid_of server1)" \
        >"$WORK/other" 2>"$WORK/errors"
    says "named, they cannot be confined either" 0 'not confined: .*(takes root|no control group)' cat "$WORK/errors"
fi

# --- what it refuses, and tells -----------------------------------------------------------------
says "no name" 2 'which experiment' lab
says "an unknown name" 2 'is battery meant' lab batery
says "two names" 2 'one experiment at a time' lab battery quote
says "csv" 2 'text or json' lab battery --format csv
says "no list of processes" 2 'server-pids is a list' lab battery --confine 0.5 --server-pids abc
says "a share of nothing" 2 'confine cannot be' lab battery --confine 0
says "options of other loads" 2 'value-size does not go with the lab' lab battery --value-size 5
says "options of the lab elsewhere" 2 'lab. only' "$LOAD" write --keep
says "copies elsewhere" 2 'lab. only' "$LOAD" write --replicas 3
says "too many copies" 2 'replicas cannot be' lab battery --replicas 7
says "more copies than servers" 1 'replicas 5 takes as many tablet servers, and 3 are there' timeout 30 "$LOAD" lab battery --html none --replicas 5
says "an experiment without the word lab" 2 "no workload 'battery'; is lab battery meant" "$LOAD" battery
says "a folder that is not there" 1 'nowhere/page.html' lab battery --html "$WORK/nowhere/page.html"
says_again "no cluster" 1 'UNAVAILABLE' lab battery --masters tcp://127.0.0.1:1 --timeout 1
says "help of an experiment" 0 'BATTERY#USER#TS' "$LOAD" help lab battery
says "help of an unknown one" 2 "no experiment 'batery'; is battery meant" "$LOAD" help lab batery
says "help of all" 0 '^celebrity ' "$LOAD" lab all --help
says "help of the lab" 0 '^celebrity ' "$LOAD" help lab
says "with the options that only the lab has" 0 '^  --keep ' "$LOAD" help lab
says "completion" 0 '^donations$' "$LOAD" --words lab
says "the man page" 0 'EXPERIMENTS OF THE LAB' "$LOAD" --man
finish

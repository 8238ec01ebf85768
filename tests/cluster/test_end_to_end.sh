#!/usr/bin/env bash
# End to end: every command of ebt against a master and two tablet servers.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
cluster_begin 2

# --- tables -----------------------------------------------------------------------------------
says "create" 0 '^$' ebt createtable T families=f:maxversions=2,sum::intsum,low::intmin,high::intmax,seen::inthll,words::byteshll splits=g,p
same "ls" "$(ebt ls)" "T"
says "ls T" 0 'maxversions=2' ebt ls T
says "ls T shows types" 0 'inthll' ebt ls T
same "three tablets and a heading" "$(ebt tablets T | wc -l)" 4
same "the tablets' heading" "$(ebt tablets T | head -n 1 | tr -s ' ')" "TABLET STATE ADDRESS IN-SYNC VERSION ROWS"
same "both servers hold some" "$(ebt --json tablets T | grep -o '"server":"[0-9]*"' | sort -u | wc -l)" 2
says "a second of that name" 1 'ALREADY_EXISTS' ebt createtable T families=f
says "createfamily" 0 '' ebt createfamily T extra:maxage=10d
says "setgcpolicy" 0 '' ebt setgcpolicy T extra maxage=30d or maxversions=5
says "ls after" 0 'maxage=30d' ebt ls T
says "deletefamily" 0 '' ebt deletefamily T extra

# --- cells ------------------------------------------------------------------------------------
says "set" 0 '' ebt set T apple f:a=1@1000 f:b=two@2000 "f:c=th ree@3000"
export TZ=UTC
same "lookup" "$(ebt lookup T apple)" '----------------------------------------
apple
  f:a                                      @ 1970/01/01-00:00:00.001000
    "1"
  f:b                                      @ 1970/01/01-00:00:00.002000
    "two"
  f:c                                      @ 1970/01/01-00:00:00.003000
    "th ree"'
none "lookup of nothing" "$(ebt lookup T nothing)"
same "lookup columns" "$(ebt lookup T apple columns=f:b | tail -n 1)" '    "two"'
ebt set T apple f:a=2@2000; ebt set T apple f:a=3@3000
same "a rule hides the oldest of three versions at once" "$(ebt lookup T apple columns=f:a | grep -c '"')" 2
same "cells-per-column" "$(ebt lookup T apple columns=f:a cells-per-column=1 | tail -n 1)" '    "3"'
for row in banana grape kiwi plum zebra; do ebt set T $row f:v=$row@1000 || bad "set $row"; done
same "read" "$(ebt read T keys-only=true | tr '\n' ' ')" "apple banana grape kiwi plum zebra "
same "read reversed" "$(ebt read T keys-only=true reversed=true | tr '\n' ' ')" "zebra plum kiwi grape banana apple "
same "read range" "$(ebt read T start=b end=kiwi keys-only=true | tr '\n' ' ')" "banana grape "
same "read prefix" "$(ebt read T prefix=k keys-only=true)" "kiwi"
same "read regex" "$(ebt read T 'regex=.*a.*e' keys-only=true | tr '\n' ' ')" "apple grape "
same "read count" "$(ebt read T count=2 reversed=true keys-only=true | tr '\n' ' ')" "zebra plum "
same "count" "$(ebt count T)" 6
same "count prefix" "$(ebt count T prefix=b)" 1
same "--json" "$(ebt --json lookup T kiwi)" '{"key":"kiwi","cells":[{"family":"f","column":"v","timestamp":1000,"value":"kiwi"}]}'

# --- aggregates -------------------------------------------------------------------------------
for n in 5 3 9; do ebt addtocell T counter sum:n=$n@0 low:n=$n@0 high:n=$n@0 seen:n=$n@0 || bad "addtocell $n"; done
ebt addtocell T counter seen:n=5@0 words:w=hello@0; ebt addtocell T counter words:w=hello@0 words:w=world@0
same "sums and sketches" "$(ebt lookup T counter | grep -E '^    ' | tr -d ' ' | tr '\n' ' ')" "17 3 9 3 2 "
says "set on an aggregate" 1 'Column family type mismatch' ebt set T counter sum:n=1@0
says "addtocell on plain" 1 'Column family type mismatch' ebt addtocell T counter f:n=1@0

# --- conditional, deletes ---------------------------------------------------------------------
same "check: absent" "$(ebt checkandmutate T claim false=f:owner=me@1000)" "matched: false"
same "check: present" "$(ebt checkandmutate T claim true=f:seen=yes@1000 false=f:owner=you@1000)" "matched: true"
same "its effect" "$(ebt --json lookup T claim | grep -o '"value":"[a-z]*"' | tr '\n' ' ')" '"value":"me" "value":"yes" '
says "increment" 0 'x05"' ebt readmodifywrite T rmw f n increment=5
says "increment again" 0 'x0c"|\\f"' ebt readmodifywrite T rmw f n increment=7
says "append" 0 '"ab"' ebt readmodifywrite T rmw f s append=ab

# --- what stands behind an @ --------------------------------------------------------------------
ebt set T at f:word=1@abc f:number=1@5000 f:both=desk@12@7000 f:now=desk@12@-1
same "a word belongs to the value" "$(ebt lookup T at columns=f:word | tail -n 1)" '    "1@abc"'
same "a number is a time" "$(ebt --json lookup T at columns=f:number | grep -o '"timestamp.*')" '"timestamp":5000,"value":"1"}]}'
same "a time behind such a value" "$(ebt --json lookup T at columns=f:both | grep -o '"timestamp.*')" '"timestamp":7000,"value":"desk@12"}]}'
same "the server's time behind it" "$(ebt lookup T at columns=f:now | tail -n 1)" '    "desk@12"'
ebt addtocell T at words:w=desk@12@-1 words:w=desk@13@0
same "for sketches too" "$(ebt --json lookup T at columns=words:w | grep -o '"number":1' | wc -l)" 2
ebt deleterow T at
says "append again" 0 '"abcd"' ebt readmodifywrite T rmw f s append=cd
says "deletecolumn" 0 '' ebt deletecolumn T apple f b
none "after it" "$(ebt lookup T apple columns=f:b)"
says "deleterow" 0 '' ebt deleterow T banana
same "after it" "$(ebt count T)" 8
ebt set T plumage f:v=1@1000; ebt set T plumber f:v=1@1000
says "deleteallrows prefix" 0 '' ebt deleteallrows T prefix=plum
none "after it" "$(ebt read T prefix=p keys-only=true)"

# --- where things are -------------------------------------------------------------------------
says "split" 0 '' ebt split T kangaroo
same "four tablets" "$(ebt --json tablets T | wc -l)" 4
same "all is there after the split" "$(ebt count T)" 7
says "samplerowkeys" 0 '"kangaroo"' ebt samplerowkeys T
same "servers" "$(ebt servers | grep -c alive)" 2
same "the servers' heading" "$(ebt servers | head -n 1 | tr -s ' ')" "SERVER ADDRESS STATE STORES REPLICAS PRIMARIES USED MiB FREE MiB ZONE"
same "what stands under STATE" "$(ebt servers | awk '{ at = NR == 1 ? index($0, "STATE") : at; print substr($0, at, 5) }' | sort -u)" "STATE
alive"
# Numbers above 2^53 are not for JSON's readers: no number of a server, store or tablet is bare.
for json in "$(ebt --json servers)" "$(ebt --json tablets T)" "$(ebt debug bundle)" \
    "$(curl -s "http://127.0.0.1:$((PORT + 100))/status")" "$(curl -s "http://127.0.0.1:$((PORT + 101))/status")"; do
    none "ids are strings" "$(grep -oE '"(server|tablet|table|number|incarnation|cluster|generation)": *[0-9]+' <<<"$json")"
    says "there are some" 0 '"(server|tablet|number)": *"[0-9]+"' echo "$json"
done
says "who follows ends when nobody reads any more" 0 '' timeout 20 bash -c "$BUILD/client/cli/ebt events follow=true | true; exit \${PIPESTATUS[0]}"
says "debug bundle" 0 '"stores"' ebt debug bundle
kill -STOP "$(pid_of server1)"
says "a bundle says what it lacks" 0 'warning: 1 part of the bundle is not there' ebt --timeout 1 debug bundle "$WORK/bundle"
kill -CONT "$(pid_of server1)"
same "and why" "$(python3 -c '
import json, sys
print([list(told) for told in json.load(open(sys.argv[1]))["servers"].values()].count(["error"]))' "$WORK/bundle")" 1
says "debug bundle is JSON" 0 '' bash -c "$BUILD/client/cli/ebt debug bundle | python3 -m json.tool"

# --- replicas, where servers hold one copy each -------------------------------------------------
says "ls tells how many" 0 '4 tablets, 1 replica each, at least 1 in sync' ebt ls T
same "and as JSON" "$(ebt --json ls T | tail -n 1)" '{"table":"T","replicas":1,"min_in_sync":1,"tablets":4,"protected":false,"pinned":false}'
says "tablets tell who is in sync" 0 '"in_sync":1,"wanted":1,"replicas":\[\{"server":"[0-9]+","address":"tcp:[^"]*","role":"primary"' ebt --json tablets T
says "more copies than servers" 1 'INVALID_ARGUMENT: 9 replicas are too many' ebt setreplication T replicas=9
says "fewer in sync than there can be" 1 'INVALID_ARGUMENT: min_in_sync is 2' ebt setreplication T min-in-sync=2
says "what is no number" 2 "'replicas=x' is not a number" ebt setreplication T replicas=x
says "what is no word" 2 "neither replicas=N nor min-in-sync=N" ebt setreplication T copies=2
says "not said twice" 2 "given twice" ebt setreplication T replicas=1 replicas=1
says "what is so already" 0 '' ebt setreplication T replicas=1 min-in-sync=1
says "createtable with them" 0 '' ebt createtable ONE families=f replicas=1 min-in-sync=1
ebt deletetable ONE
same "draining a server by its address" "$(ebt --json drain "127.0.0.1:$((PORT + 1))" --no-wait | grep -o '"draining":true')" '"draining":true'
same "is shown" "$(ebt servers | grep -c draining)" 1
same "and no other" "$(ebt --json servers | grep -c '"draining":true')" 1
says_again "what cannot go is waited for" 1 'DEADLINE_EXCEEDED: [0-9]+ replicas are still there' ebt --timeout 1 drain "tcp://127.0.0.1:$((PORT + 1))"
says "and comes back" 0 '"draining":false' ebt --json drain "$(ebt --json servers | grep draining.:true | grep -o '"server":"[0-9]*"' | tr -dc 0-9)" --undo
same "as it was" "$(ebt servers | grep -c alive)" 2
says "a server that is not there" 1 "NOT_FOUND: no tablet server has the number or address '10.0.0.1:1'" ebt drain 10.0.0.1:1
says "a drain of a kind that is none" 2 "neither --undo nor --no-wait" ebt drain 1 --now
says "no boundary there" 1 "INVALID_ARGUMENT: no tablet begins at row 'x': the right one of the two" ebt merge T x
says "none before the first" 1 "INVALID_ARGUMENT: the first tablet has none before it" ebt merge T ''
says "the help says which row it is" 0 'ROW is the boundary that goes: the first row of the right one' ebt help merge
boundary=$(ebt --json tablets T | sed -n 2p | grep -o '"start":"[^"]*"' | cut -d'"' -f4)
says "servers that do not replicate do not merge" 1 'UNIMPLEMENTED: .*replicate = false' ebt merge T "$boundary"

# --- out and in -------------------------------------------------------------------------------
says "export" 0 '' ebt export T "$WORK/T.jsonl"
says "import" 0 'rows imported' ebt import COPY "$WORK/T.jsonl"
same "an exact round trip" "$(ebt --json read COPY)" "$(ebt --json read T)"
says "import again changes nothing" 0 'rows imported' ebt import COPY "$WORK/T.jsonl"
same "still exact" "$(ebt --json read COPY)" "$(ebt --json read T)"
head -n -1 "$WORK/T.jsonl" >"$WORK/cut.jsonl"
says "an export that was cut is not imported with success" 1 'cut short: its last line is missing' ebt import COPY "$WORK/cut.jsonl"
cat "$WORK/T.jsonl" "$WORK/T.jsonl" >"$WORK/two.jsonl"
says "two exports in one file are not one" 1 'two.jsonl:[0-9]+: something stands behind the export' ebt import COPY "$WORK/two.jsonl"
{ cat "$WORK/T.jsonl"; echo; } >"$WORK/blank.jsonl"
says "an empty line behind one is nothing" 0 'rows imported' ebt import COPY "$WORK/blank.jsonl"
says "an export has timestamps of its own" 2 "'timestamp=now' does not go with an export" ebt import COPY "$WORK/T.jsonl" timestamp=now
printf '%s\n' '{"edubba_export":1,"table":"X","micros":false,"families":[{"name":"f","gc":"never","type":"intavg"}]}' '{"rows":0}' >"$WORK/newer.jsonl"
says "a type that is not known" 1 'newer.jsonl:1: not an export of a version that this ebt reads' ebt import NEWER "$WORK/newer.jsonl"
same "no table is made of it" "$(ebt ls | grep -c '^NEWER$')" 0
none "nor is a number of rows told on stdout" "$(ebt import COPY "$WORK/cut.jsonl" 2>/dev/null)"
printf ',f,\n,x,y\nr1,1,2\nr2,,"a,""b"""\n' >"$WORK/rows.csv"
says "import csv" 0 '2 rows' ebt import COPY "$WORK/rows.csv"
printf ',f\n,x\nr3,1\nr4,"open\nr5,1\n' >"$WORK/open.csv"
says "a quote that is not closed, and where it began" 1 'open.csv:4: a quote is not closed' ebt import COPY "$WORK/open.csv"
ebt deleterow COPY r3
same "what came of it" "$(ebt --json lookup COPY r2 | grep -o '"value":".*')" '"value":"a,\"b\""}]}'

# --- samples of a table that is worth cutting -------------------------------------------------
ebt createtable SAMPLED families=f
python3 -c 'print(",f\n,x"); [print("r%02d,%s" % (i, "v" * 1000000)) for i in range(40)]' >"$WORK/large.csv"
says "import large rows" 0 '40 rows' ebt import SAMPLED "$WORK/large.csv"
samples=$(ebt samplerowkeys SAMPLED)
same "more than the end" "$(($(wc -l <<<"$samples") >= 2))" 1
same "the end is the last" "$(tail -n 1 <<<"$samples" | cut -d' ' -f1)" '""'
same "it says the size" "$(($(tail -n 1 <<<"$samples" | cut -d' ' -f2) >= 40000000))" 1
same "keys and offsets ascend" "$(head -n -1 <<<"$samples" | sort -u | sort -s -n -u -k2)" "$(head -n -1 <<<"$samples")"
ebt deletetable SAMPLED

# --- restarts ---------------------------------------------------------------------------------
before=$(ebt --json read T)
kill_hard server1; start_server 1
kill_hard master; start_master
same "all is there after kill -9 of a server and the master" "$(ebt --json read T)" "$before"
stop_soft server2; same "SIGTERM is a clean stop" $? 0
start_server 2
same "all is there after a clean stop" "$(ebt --json read T)" "$before"

# --- tablet servers among the masters' addresses, and no master at all -------------------------
server1=tcp://127.0.0.1:$((PORT + 1)) server2=tcp://127.0.0.1:$((PORT + 2))
says "tablets, a tablet server asked first" 0 'kangaroo' ebt --masters "$server1,$EDUBBA_MASTERS" tablets T
says "servers, a tablet server asked first" 0 'alive' ebt --masters "$server1,$EDUBBA_MASTERS" servers
says "createfamily, a tablet server asked first" 0 '' ebt --masters "$server1,$EDUBBA_MASTERS" createfamily T later
says "only a tablet server: what only a master does" 1 "UNIMPLEMENTED.*LIST_TABLES; ask the master at $EDUBBA_MASTERS" ebt --masters "$server1" ls
places() { ebt "$@" tablets T | tr -s ' ' | cut -d' ' -f1-3,5-; } # who is in sync only a master knows
rows=$(ebt read T) tablets=$(places)
kill_hard master
begun=$SECONDS
for masters in "$server1" "$EDUBBA_MASTERS,$server1" "$server2,$EDUBBA_MASTERS"; do
    same "a new client reads without a master ($masters)" "$(ebt --masters "$masters" read T)" "$rows"
    same "and sees the tablets" "$(places --masters "$masters")" "$tablets"
    says "and the families" 0 'inthll' ebt --masters "$masters" ls T
    says "and writes" 0 '' ebt --masters "$masters" addtocell T counter sum:n=1@0
    ebt --masters "$masters" addtocell T counter sum:n=-1@0
done
same "without waiting" "$((SECONDS - begun < 60))" 1
says_again "what nobody knows is not denied" 1 "(UNAVAILABLE|DEADLINE).*does not know table 'NOWHERE'; ask the master at $EDUBBA_MASTERS" \
    ebt --timeout 1 --masters "$EDUBBA_MASTERS,$server1" read NOWHERE
stop_soft server1; start_server 1; stop_soft server2; start_server 2
same "nor after the servers' restart without a master" "$(ebt --masters "$EDUBBA_MASTERS,$server1,$server2" read T)" "$rows"
says "a master that is looked for in vain is named in the log" 0 "master_not_reached.*$EDUBBA_MASTERS.*refused" \
    bash -c "for i in {1..600}; do grep master_not_reached '$WORK/server1.log' && exit 0; sleep 0.1; done"
same "now and then, not all the time" "$(($(grep -c master_not_reached "$WORK/server1.log") <= 3))" 1
ebt --timeout 10 ls >/dev/null 2>&1
start_master
says "deleteallrows" 0 '' ebt deleteallrows T
same "nothing is left" "$(ebt count T)" 0
says "deletetable" 0 '' ebt deletetable T
says "it is gone" 1 'NOT_FOUND' ebt read T
# A table that no server has taken on yet when the master stops: to ask the next one for it would find it there.  (Whoever asks
# only when the stopped servers count as gone is refused, and tries again.)
late_is_made() { "$BUILD/client/cli/ebt" ls | grep -qx LATE; }
late_is_there_or_refused() { late_is_made || grep -q 'no tablet server is alive' "$WORK/create"; }
for _ in 1 2 3 4 5; do
    kill -STOP "$(pid_of server1)" "$(pid_of server2)"
    ebt createtable LATE families=f >"$WORK/create" 2>&1 & creating=$!
    await "the master has made it, or refuses" 60 late_is_there_or_refused
    late_is_made && break
    kill -CONT "$(pid_of server1)" "$(pid_of server2)"
    wait $creating
    ebt deletetable LATE
done
says "the master has made it" 0 'LATE' ebt ls
stop_soft master; start_master
wait $creating
same "a change that may have been made is not asked for again" "$(<"$WORK/create")" \
    "ebt: UNAVAILABLE: the master is stopping; it may or may not have been done"
kill -CONT "$(pid_of server1)" "$(pid_of server2)"
says "it was" 0 '' ebt deletetable LATE
says "metrics" 0 'edubba_operations_total' curl -s "http://127.0.0.1:$((PORT + 101))/metrics"
says "which build runs" 0 '^edubba_build_info\{version="[0-9.]+",commit="[^"]+"\} 1$' curl -s "http://127.0.0.1:$((PORT + 101))/metrics"
says "health" 0 'ok' curl -s "http://127.0.0.1:$((PORT + 101))/health"
says "master's health" 0 'ok' curl -s "http://127.0.0.1:$((PORT + 100))/health"
finish

#!/usr/bin/env bash
# The gateway as a daemon: settings, starting before its cluster, health, metrics, TLS, and stopping.
# What it answers to Bigtable's clients is tests/gateway's.  gRPC is spoken by ask.py, over TLS by
# curl: a frame is a zero, four bytes of length, and the message.
[[ -n ${1:-} ]] && BUILD=$(cd "$1" && pwd)
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/machine.sh"
GATEWAY=$BUILD/gateway/edubba-gateway
HTTP=http://127.0.0.1:$((PORT + 150))
if [[ ! -x $GATEWAY ]]; then echo "skipped: the gateway was not built"; echo "0 passed, 0 failed, 1 skipped"; exit 0; fi

# field NUMBER TEXT: a field of bytes, as printf takes it; at most 127 bytes.
field() { printf '\\x%02x\\x%02x%s' $(($1 << 3 | 2)) ${#2} "$2"; }
# message ESCAPES: the frame of it, in $WORK/frame.
message() {
    local size
    printf "$1" >"$WORK/message"
    size=$(stat -c %s "$WORK/message")
    { printf '\0\0'; printf "$(printf '\\x%02x\\x%02x\\x%02x' $((size >> 16 & 255)) $((size >> 8 & 255)) $((size & 255)))"; cat "$WORK/message"; } >"$WORK/frame"
}
# rpc URL [OPTION...]: send the frame; its answer goes to $WORK/answer.
rpc() {
    rm -f "$WORK/headers" "$WORK/answer"; : >"$WORK/answer"
    curl -sN --max-time 60 -X POST -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @"$WORK/frame" \
        -D "$WORK/headers" -o "$WORK/answer" "${@:2}" "$1"
}
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
grpc_status() { sed -nE 's/^grpc-status: ([0-9]+).*/\1/p' "$WORK/headers" | tail -n 1; }
# ask METHOD: the message, in plaintext; its answer goes to $WORK/said.
ask() { "$ROOT/tests/gateway/ask.py" "$BIGTABLE_EMULATOR_HOST" "$1" <"$WORK/message" >"$WORK/said"; }
# call METHOD ESCAPES: "STATUS MESSAGES" of a call in plaintext.
call() { message "$2"; ask "$1"; awk '$1 == "status" { status = $2; next } { messages = messages $0 } END { print status, messages }' "$WORK/said"; }
metric() { curl -s "$HTTP/metrics" | awk -v name="$1 " 'index($0, name) == 1 { print $NF }'; }
# eventually WHAT COMMAND...: it succeeds within a minute.
eventually() {
    for _ in $(seq 1200); do "${@:2}" >/dev/null 2>&1 && { ok; return; }; sleep 0.05; done
    bad "$1"
}
holds_requests() { (($(metric edubba_gateway_request_bytes) > 0)); }
says_health() { [[ $(curl -s "$HTTP/healthz") == "$1"* ]]; }

# --- settings ---------------------------------------------------------------------------------
says "help" 0 '^  request_memory_max = "1 GiB"$' "$GATEWAY" --help
says "help beside other options" 0 '^  address = "127.0.0.1:8086"$' "$GATEWAY" --set address=127.0.0.1:1 --help
says "version" 0 '^edubba-gateway [0-9]+\.' "$GATEWAY" --version
says "the file with all defaults" 0 'good' "$GATEWAY" --config "$ROOT/conf/gateway.conf" --check-config
none "it names every key" "$(sed -nE 's/^  ([a-z_.]+) = .*$/\1/p' <<<"$("$GATEWAY" --help)" | sed 's/.*\.//' |
    while read -r key; do grep -qE "\b$key = " "$ROOT/conf/gateway.conf" || echo "$key"; done)"
none "and docs/configuration.md too" "$(sed -nE 's/^  ([a-z_.]+) = .*$/\1/p' <<<"$("$GATEWAY" --help)" |
    while read -r key; do sed -n '/^## edubba-gateway/,/^## Clients/p' "$ROOT/docs/configuration.md" | grep -qF "\`$key\`" || echo "$key"; done)"
says "unknown option" 2 "unknown option '--sing'" "$GATEWAY" --sing
says "no such file" 2 'nonexistent.conf' "$GATEWAY" --config "$WORK/nonexistent.conf"
printf 'address = "127.0.0.1:0";\nadress = "x";\nmasters = "127.0.0.1:1";\nlog = { level = "loud"; };\n' >"$WORK/bad.conf"
same "all that is wrong, with its place" \
    "$("$GATEWAY" --config "$WORK/bad.conf" --set request_memory_max=lots --check-config 2>&1 | grep -oE '(bad.conf:[0-9]+|command line): (unknown key .adress|[a-z_.]+)' | tr '\n' ';')" \
    "bad.conf:2: unknown key 'adress;command line: request_memory_max;bad.conf:4: log.level;bad.conf:3: masters;"
# refused WHAT PATTERN SETTING...: in the same words at the start and by --check-config.
refused() {
    local what=$1 pattern=$2 settings=()
    shift 2
    for setting in "$@"; do settings+=(--set "$setting"); done
    says "$what" 2 "$pattern" "$GATEWAY" "${settings[@]}" --check-config
    same "$what" "$("$GATEWAY" "${settings[@]}" 2>&1)" "$("$GATEWAY" "${settings[@]}" --check-config 2>&1)"
}
refused "not loopback" 'address: .*0.0.0.0:0 can be reached.*insecure' address=0.0.0.0:0
refused "HTTP not on loopback" 'http.address: .*0.0.0.0:0 can be reached' http.address=0.0.0.0:0
refused "HTTP not on loopback, with TLS for calls" 'http.address: .*0.0.0.0:0 can be reached' http.address=0.0.0.0:0 tls.certificate=c tls.key=k
refused "a scheme" 'address: .*tcp://127.0.0.1:8086: must be a host and a port' address=tcp://127.0.0.1:8086
refused "no port" 'address: .*localhost: must be a host and a port' address=localhost
refused "masters that are no addresses" 'masters: .*tcp://x' masters=tcp://127.0.0.1:1,tcp://x
refused "no masters" 'masters: no address' masters=,
refused "too many masters" 'masters: with tcp://127.0.0.1:17 .*the 16 that are allowed' masters="$(printf 'tcp://127.0.0.1:%d,' {1..17})"
refused "a home without an instance" 'home.*PROJECT/INSTANCE' home=edubba
refused "a home with too much" 'home.*PROJECT/INSTANCE' home=a/b/c
refused "an empty project" 'home.*PROJECT/INSTANCE' home=/b
refused "a certificate without key" 'tls.certificate and tls.key' tls.certificate=c
refused "a key without certificate" 'tls.certificate and tls.key' tls.key=k
refused "a CA without certificate" 'tls.client_ca' tls.client_ca=ca
refused "less for operations than for requests" 'client.in_flight_bytes_max must not be below' request_memory_max="2 GiB"
refused "no admin threads" 'admin_threads' admin_threads=0
says "not loopback, but meant" 0 'good' "$GATEWAY" --set address=0.0.0.0:0 --set http.address=0.0.0.0:0 --set insecure=true --check-config
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$WORK/key.pem" -out "$WORK/certificate.pem" 2>"$WORK/openssl.log" || bad "openssl: $(<"$WORK/openssl.log")"
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$WORK/other-key.pem" 2>"$WORK/openssl.log" || bad "openssl: $(<"$WORK/openssl.log")"
    tls=("tls.certificate=$WORK/certificate.pem" "tls.key=$WORK/key.pem")
    says "not loopback, with TLS" 0 'good' "$GATEWAY" --set address=0.0.0.0:0 --set "${tls[0]}" --set "${tls[1]}" --check-config
    refused "a certificate that is none" 'tls.certificate: .*bad.conf holds no certificate' "tls.certificate=$WORK/bad.conf" "${tls[1]}"
    refused "a key that is none" 'tls.key: .*certificate.pem holds no private key' "${tls[0]}" "tls.key=$WORK/certificate.pem"
    refused "another one's key" 'tls.key: .*other-key.pem is not the key of the first certificate in .*/certificate.pem' "${tls[0]}" "tls.key=$WORK/other-key.pem"
    refused "a CA that is none" 'tls.client_ca: .*key.pem holds no certificate' "${tls[@]}" "tls.client_ca=$WORK/key.pem"
fi

# --- before its cluster -----------------------------------------------------------------------
"$GATEWAY" --set "address=$BIGTABLE_EMULATOR_HOST" --set "http.address=127.0.0.1:$((PORT + 150))" --set "masters=$EDUBBA_MASTERS" \
    --set client.unreachable="1 s" --ready-fd 3 3>"$WORK/early.ready" 2>"$WORK/early.log" </dev/null &
PIDS[early]=$!
eventually "without a master it says that it starts" says_health starting
eventually "it logs what it waits for" grep -q 'master_not_reached.*Connection refused' "$WORK/early.log"
none "it is not ready" "$(<"$WORK/early.ready")"
says "and takes no calls" 7 '' curl -s "http://$BIGTABLE_EMULATOR_HOST/"
if stop_soft early; then ok; else bad "stopped without a cluster: exit $?"; fi
"$GATEWAY" --set "address=$BIGTABLE_EMULATOR_HOST" --set "http.address=127.0.0.1:$((PORT + 150))" --set "masters=$EDUBBA_MASTERS" \
    --set client.unreachable="1 s" --ready-fd 3 3>"$WORK/early.ready" 2>"$WORK/early.log" </dev/null &
PIDS[early]=$!
eventually "a second one starts" says_health starting
cluster_begin 1
eventually "with its cluster it is ready" grep -q READY "$WORK/early.ready"
same "it says where" "$(<"$WORK/early.ready")" "READY address=$BIGTABLE_EMULATOR_HOST http=127.0.0.1:$((PORT + 150))"
same "it is healthy" "$(curl -s "$HTTP/health")" "ok"
if stop_soft early; then ok; else bad "stopped with nothing to do: exit $?"; fi

# --- calls ------------------------------------------------------------------------------------
start_gateway "log.format=json" || exit 1
says "a gateway's port is no master's" 1 'does not speak this protocol' timeout 60 "$BUILD/client/cli/ebt" --masters "tcp://$BIGTABLE_EMULATOR_HOST" ls
ebt createtable T families=f || bad "createtable"
same "health" "$(call grpc.health.v1.Health/Check '')" "0 0801"
same "health of a service" "$(call grpc.health.v1.Health/Check "$(field 1 google.bigtable.v2.Bigtable)")" "0 0801"
same "health of another" "$(call grpc.health.v1.Health/Check "$(field 1 google.bigtable.v2.Big)")" "5 "
same "what is not served" "$(call google.bigtable.v2.Bigtable/Sing '')" "12 "
same "what is no message" "$(call grpc.health.v1.Health/Check '\x0a\x7f')" "3 "
cell=$(field 1 f)$(field 2 c)'\x18\xe8\x07'$(field 4 v) # 12 bytes
table=$(field 1 projects/edubba/instances/edubba/tables/T)
message "$cell"; same "a cell's size" "$(stat -c %s "$WORK/message")" 12
write=$table$(field 2 row)'\x1a\x0e\x0a\x0c'$cell
same "a write" "$(call google.bigtable.v2.Bigtable/MutateRow "$write" | cut -d ' ' -f 1)" 0
same "is there for ebt" "$(ebt --json lookup T row)" '{"key":"row","cells":[{"family":"f","column":"c","timestamp":1000,"value":"v"}]}'
same "a write to no table" "$(call google.bigtable.v2.Bigtable/MutateRow "$(field 1 projects/edubba/instances/edubba/tables/U)$(field 2 row)"'\x1a\x0e\x0a\x0c'"$cell" | cut -d ' ' -f 1)" 5

# --- instances: with their first table, once, or not at all -------------------------------------
tables=google.bigtable.admin.v2.BigtableTableAdmin
instances=google.bigtable.admin.v2.BigtableInstanceAdmin
# documents PREFIX: how many there are.
documents() { ebt --json documents "prefix=bigtable/$1" | wc -l; }
status_of() { call "$@" | cut -d ' ' -f 1; }
same "a table of a name that none can have" "$(status_of $tables/CreateTable "$(field 1 'projects/a b/instances/x y')$(field 2 t)")" 3
same "a table of all instances" "$(status_of $tables/CreateTable "$(field 1 projects/p/instances/-)$(field 2 t)")" 3
same "a table with a family of no name" "$(status_of $tables/CreateTable "$(field 1 projects/p/instances/i)$(field 2 t)"'\x1a\x07\x1a\x05\x0a\x03b d')" 3
same "they leave no instance" "$(documents '')" 0
for i in 1 2 3 4 5 6 7 8; do
    (WORK=$WORK/first$i && mkdir "$WORK" && status_of $tables/CreateTable "$(field 1 projects/p/instances/i)$(field 2 "t$i")" >"$WORK/status") &
    firsts[i]=$!
done
wait "${firsts[@]}"
same "eight first tables at once" "$(cat "$WORK"/first*/status | tr -d '\n')" 00000000
same "make one instance" "$(documents instances/) $(documents clusters/) $(documents appProfiles/)" "1 1 1"
# An instance of 24 bytes and more, and a mask that names what of it counts.
instance=$(field 1 projects/p/instances/i) labels='\x12\x08\x0a\x06labels' type='\x12\x06\x0a\x04type'
same "a label without a key" "$(status_of $instances/PartialUpdateInstance '\x0a\x1d'"$instance"'\x2a\x03\x12\x01v'"$labels")" 3
same "a label" "$(status_of $instances/PartialUpdateInstance '\x0a\x20'"$instance"'\x2a\x06'"$(field 1 k)$(field 2 v)$labels")" 0
same "another name" "$(status_of $instances/UpdateInstance "$instance$(field 2 named)")" 0
same "a mask with a type that is not said" "$(status_of $instances/PartialUpdateInstance '\x0a\x18'"$instance$type")" 0
same "type and label are as they were" "$(call $instances/GetInstance "$instance" | grep -o '12056e616d6564180120012a060a016b120176')" 12056e616d6564180120012a060a016b120176
# A cluster of 38 bytes, limits of autoscaling behind it (14), and the mask that names them.
cluster=$(field 1 projects/p/instances/i/clusters/i-c1) limits='\x3a\x0c\x0a\x0a\x0a\x04\x08\x01\x10\x04\x12\x02\x10\x32'
same "limits of autoscaling" "$(status_of $instances/PartialUpdateCluster '\x0a\x34'"$cluster$limits"'\x12\x10\x0a\x0ecluster_config')" 0
same "a number of nodes" "$(status_of $instances/UpdateCluster "$cluster"'\x20\x07')" 0
same "leaves them" "$(call $instances/GetCluster "$cluster" | grep -oE '200728013a0c0a0a0a040801100412021032')" 200728013a0c0a0a0a040801100412021032
same "no node" "$(status_of $instances/UpdateCluster "$cluster")" 3
seconds() { python3 -c 'import sys, time
seconds = int(time.time() - float(sys.argv[1]) * 86400)
print("".join(f"\\x{seconds >> shift & 127 | (128 if shift < 28 else 0):02x}" for shift in range(0, 35, 7)))' "$1"; }
same "hot tablets until 13.5 days ago, from as far as there may be any" "$(status_of $instances/ListHotTablets "$(field 1 projects/p/instances/i/clusters/-)"'\x1a\x06\x08'"$(seconds 13.5)")" 0
same "until 15 days ago" "$(status_of $instances/ListHotTablets "$(field 1 projects/p/instances/i/clusters/-)"'\x1a\x06\x08'"$(seconds 15)")" 3
same "who may do what in an instance" "$(status_of $instances/GetIamPolicy "$(field 1 projects/p/instances/i)")" 0
same "in one that is not there" "$(status_of $instances/GetIamPolicy "$(field 1 projects/p/instances/none)")" 5
operations=google.longrunning.Operations done=$(field 1 operations/projects/p/instances/i/operations/1)
same "an operation is over for whoever polls it" "$(call $operations/GetOperation "$done" | grep -oE '^0 |1801' | sort -u | tr -d '\n')" "0 1801"
same "or waits for it, cancels it, deletes it, lists them" "$(for what in Wait Cancel Delete List; do status_of $operations/${what}Operation$([ $what != List ] || echo s) "$done"; done | tr -d '\n')" 0000
same "one of an instance that is not there" "$(status_of $operations/GetOperation "$(field 1 operations/projects/p/instances/none/operations/1)")" 5
same "what is no operation" "$(for what in Get Cancel; do status_of $operations/${what}Operation "$(field 1 operations/some)"; done | tr -d '\n')" 33
same "deleted" "$(status_of $instances/DeleteInstance "$(field 1 projects/p/instances/i)") $(documents '') $(ebt --json ls | grep -c 'p/i/')" "0 0 0"
ebt createtable p/i/u families=f || bad "createtable"
same "a table that no gateway made is in an instance as well" "$(status_of $tables/GetTable "$(field 1 projects/p/instances/i/tables/u)"'\x10\x04') $(documents clusters/)" "0 1"
same "deleted with it" "$(status_of $instances/DeleteInstance "$(field 1 projects/p/instances/i)") $(documents '') $(ebt --json ls | grep -c 'p/i/')" "0 0 0"
same "deleted again" "$(status_of $instances/DeleteInstance "$(field 1 projects/p/instances/i)")" 5

# --- what it tells ------------------------------------------------------------------------------
same "calls by method and code" "$(metric 'edubba_gateway_requests_total{method="Health/Check",code="OK"}')" 2
same "calls by method and code" "$(metric 'edubba_gateway_requests_total{method="Health/Check",code="NOT_FOUND"}')" 1
same "calls by method and code" "$(metric 'edubba_gateway_requests_total{method="Bigtable/MutateRow",code="OK"}')" 1
same "how long they took" "$(metric 'edubba_gateway_request_seconds_count{method="Bigtable/MutateRow"}')" 2
same "it serves" "$(metric edubba_gateway_serving)" 1
says "which build runs" 0 '^edubba_build_info\{version="[0-9.]+",commit="[^"]+"\} 1$' curl -s "$HTTP/metrics"
says "status" 0 "serving False edubba/edubba $BIGTABLE_EMULATOR_HOST" python3 -c 'import json, sys, urllib.request
said = json.load(urllib.request.urlopen(sys.argv[1]))
assert said["methods"] > 20 and said["request_bytes"] >= 0, said
print(said["state"], said["tls"], said["home"], said["address"])' "$HTTP/status"
says "every metric is in docs/metrics.md" 0 '^$' bash -c "curl -s $HTTP/metrics | sed -nE 's/^# TYPE (edubba_gateway_[a-z_]+) .*/\\1/p' |
    while read -r name; do grep -qF \"\\\`\$name\\\`\" '$ROOT/docs/metrics.md' || echo \"\$name\"; done"
says "the port in use" 1 "cannot listen at $BIGTABLE_EMULATOR_HOST: is it in use" "$GATEWAY" --set "address=$BIGTABLE_EMULATOR_HOST" --set http.address= --set "masters=$EDUBBA_MASTERS"
says "the port of HTTP in use" 1 "127.0.0.1:$((PORT + 150)).*in use" "$GATEWAY" --set address=127.0.0.1:0 --set "http.address=127.0.0.1:$((PORT + 150))" --set "masters=$EDUBBA_MASTERS"
says "a certificate that is not there" 2 'tls.certificate: .*/nonexistent.pem cannot be read: No such file' "$GATEWAY" --set address=127.0.0.1:0 --set http.address= --set "masters=$EDUBBA_MASTERS" \
    --set tls.certificate="$WORK/nonexistent.pem" --set tls.key="$WORK/nonexistent.pem"

# --- exactly once: a token, and when it was drawn ------------------------------------------------
ebt createtable S families=n::intsum || bad "createtable"
# AddToCell (16 bytes): family, qualifier, time 0, 5.
add=$(field 1 projects/edubba/instances/edubba/tables/S)$(field 2 row)'\x1a\x12\x2a\x10'$(field 1 n)'\x12\x03\x42\x01c\x1a\x02\x48\x00\x22\x02\x30\x05'
token='\x42\x12'$(field 1 a.token.)'\x12\x06\x08'$(seconds 0)
for i in 1 2 3; do
    same "an addition with a token, $i" "$(status_of google.bigtable.v2.Bigtable/MutateRow "$add$token")" 0
done
same "is done once" "$(ebt lookup S row | grep -c '^ *5$')" 1
same "without one" "$(status_of google.bigtable.v2.Bigtable/MutateRow "$add")" 0
same "it is done again" "$(ebt lookup S row | grep -c '^ *10$')" 1
same "a token of an hour ago" "$(status_of google.bigtable.v2.Bigtable/MutateRow "$add"'\x42\x12'"$(field 1 b.token.)"'\x12\x06\x08'"$(seconds 0.05)")" 9

# --- stopping: who watches is told, and the process ends ----------------------------------------
message ''
rm -f "$WORK/said" # what an earlier call was told is not what the watcher is told: ask empties it late, in the background
ask grpc.health.v1.Health/Watch & watching=$!
eventually "a watcher is told at once" test -s "$WORK/said"
eventually "the stream is counted" holds_requests
machine_watch
begun=$SECONDS
if stop_soft gateway; then ok; else bad "stopped with a stream open: exit $?"; fi
at_most "a stream that could be ended is not waited for:" $((SECONDS - begun)) 9 s
wait $watching
same "it is told of the end" "$(cut -d " " -f 1,2 "$WORK/said" | tr "\n" " ")" "0801 0802 status 14 "
same "the log is JSON" "$(grep -cv '^{.*}$' "$WORK/gateway.log")" 0

# --- a server that is away does not hold up a stop ----------------------------------------------
start_gateway "drain=1 s" "deadline_max=60 s" || exit 1
call google.bigtable.v2.Bigtable/MutateRow "$write" >/dev/null
kill_hard server1
message "$write"
ask google.bigtable.v2.Bigtable/MutateRow & writing=$!
eventually "the call runs" holds_requests
begun=$SECONDS
stop_soft gateway
at_most "stopping took" $((SECONDS - begun)) 19 s
wait $writing
start_server 1 || exit 1

# --- admin calls that wait for a master do not hold up calls for data ----------------------------
ebt createtable UNOPENED families=f || bad "createtable"
start_gateway admin_threads=1 "deadline_max=60 s" || exit 1
kill -STOP "${PIDS[master]}"
message "$(field 1 projects/edubba/instances/edubba)"
"$ROOT/tests/gateway/ask.py" "$BIGTABLE_EMULATOR_HOST" $tables/ListTables <"$WORK/message" >"$WORK/listed" & listing=$!
eventually "the admin call waits" holds_requests
same "a write to a table that was not opened" "$(status_of google.bigtable.v2.Bigtable/MutateRow "$(field 1 projects/edubba/instances/edubba/tables/UNOPENED)${write#"$table"}")" 0
same "it did not wait for the admin call" "$(kill -0 $listing && echo "that still waits")" "that still waits"
kill -CONT "${PIDS[master]}"
wait $listing
stop_soft gateway || bad "stopping"

# --- TLS ----------------------------------------------------------------------------------------
if command -v openssl >/dev/null; then
    start_gateway "${tls[@]}" || exit 1
    message ''
    rpc "https://localhost:$((PORT + 50))/grpc.health.v1.Health/Check" --http2 --cacert "$WORK/certificate.pem"
    same "health over TLS" "$(grpc_status) $(hex "$WORK/answer")" "0 00000000020801"
    rpc "http://$BIGTABLE_EMULATOR_HOST/grpc.health.v1.Health/Check" --http2-prior-knowledge
    none "and not without" "$(hex "$WORK/answer")"
    stop_soft gateway || bad "stopping with TLS"
    start_gateway "${tls[@]}" "tls.client_ca=$WORK/certificate.pem" || exit 1
    rpc "https://localhost:$((PORT + 50))/grpc.health.v1.Health/Check" --http2 --cacert "$WORK/certificate.pem"
    none "a client without certificate" "$(hex "$WORK/answer")"
    rpc "https://localhost:$((PORT + 50))/grpc.health.v1.Health/Check" --http2 --cacert "$WORK/certificate.pem" --cert "$WORK/certificate.pem" --key "$WORK/key.pem"
    same "a client with one" "$(grpc_status) $(hex "$WORK/answer")" "0 00000000020801"
    stop_soft gateway || bad "stopping with TLS for clients"
else
    echo "openssl is not there: TLS is not tried"
fi

# --- descriptors end: it is not there and deaf ever after, but ends, and is started again ----------------------------
LAUNCHER=(prlimit --nofile=64:64)
start_gateway || exit 1
LAUNCHER=()
python3 - $((PORT + 50)) <<'PYTHON'
import socket, sys, time
sockets = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(100)]
time.sleep(3)
PYTHON
gateway_is_gone() { ! kill -0 "$(pid_of gateway)" 2>/dev/null; }
await "it ends" 60 gateway_is_gone
status=0
wait "$(pid_of gateway)" || status=$?
unset 'PIDS[gateway]'
same "with a failure" "$status $(grep -c 'takes no more connections.*LimitNOFILE' "$WORK/gateway.log")" "1 1"
finish

# Sourced after cluster.sh by tests of several masters: an etcd of three members, on loopback.
#
#   etcd_begin [SETTING...]        start them; sets ETCD_ENDPOINTS.  TLS=1: with a CA and client certificates
#   etcd_member N                  start one again
#   etcd_leader                    the number of the member that leads
#   start_master_on_etcd N [SETTING...]
# Ports: PORT + 60 + N and PORT + 70 + N; masters PORT + 20 + N, their HTTP 100 higher.
ETCD_ENDPOINTS='' ETCD_CLUSTER='' ETCD_SCHEME=http
ETCD_OPTIONS=() TLS_SETTINGS=()

# A CA, one certificate for servers and one for clients.
etcd_certificates() {
    local folder=$WORK/tls name
    mkdir -p "$folder"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca \
        -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>/dev/null
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name \
            -keyout "$folder/$name.key" -out "$folder/$name.csr" 2>/dev/null
        openssl x509 -req -in "$folder/$name.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial -days 2 \
            -extfile <(echo "subjectAltName=IP:127.0.0.1"; echo "extendedKeyUsage=serverAuth,clientAuth") \
            -out "$folder/$name.pem" 2>/dev/null
    done
}

etcd_member() {
    local n=$1 client=$ETCD_SCHEME://127.0.0.1:$((PORT + 60 + $1)) peer=http://127.0.0.1:$((PORT + 70 + $1))
    etcd --name "m$n" --data-dir "$WORK/etcd$n" --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "$ETCD_CLUSTER" \
        --initial-cluster-token "$WORK" "${ETCD_OPTIONS[@]}" >>"$WORK/etcd$n.log" 2>&1 </dev/null &
    PIDS[etcd$n]=$!
}

etcd_ask() { ETCDCTL_API=3 etcdctl --endpoints "$ETCD_ENDPOINTS" ${TLS:+--cacert "$WORK/tls/ca.pem" --cert "$WORK/tls/client.pem" --key "$WORK/tls/client.key"} "$@"; }

# Column 5 of "endpoint status" says who leads.
etcd_leader() {
    local port
    port=$(etcd_ask endpoint status 2>/dev/null | awk -F', ' '$5 == "true" { sub(/.*:/, "", $1); print $1 }')
    [[ -n $port ]] && echo $((port - PORT - 60))
}

etcd_begin() {
    local n
    ETCD_OPTIONS+=("$@")
    if [[ -n ${TLS:-} ]]; then
        etcd_certificates
        ETCD_SCHEME=https
        ETCD_OPTIONS+=(--cert-file "$WORK/tls/server.pem" --key-file "$WORK/tls/server.key" --client-cert-auth
            --trusted-ca-file "$WORK/tls/ca.pem")
        TLS_SETTINGS=(--set "etcd.ca=$WORK/tls/ca.pem" --set "etcd.certificate=$WORK/tls/client.pem" --set "etcd.key=$WORK/tls/client.key")
    fi
    for n in 1 2 3; do
        ETCD_ENDPOINTS+=${ETCD_ENDPOINTS:+,}$ETCD_SCHEME://127.0.0.1:$((PORT + 60 + n))
        ETCD_CLUSTER+=${ETCD_CLUSTER:+,}m$n=http://127.0.0.1:$((PORT + 70 + n))
    done
    for n in 1 2 3; do etcd_member $n; done
    for n in $(seq 1200); do
        [[ -n $(etcd_leader) ]] && return
        sleep 0.1
    done
    echo "etcd did not start:"; tail -n 5 "$WORK/etcd1.log"; exit 1
}

EDUBBA_MASTERS=tcp://127.0.0.1:$((PORT + 21)),tcp://127.0.0.1:$((PORT + 22)),tcp://127.0.0.1:$((PORT + 23))
start_master_on_etcd() {
    local n=$1 tls=()
    shift
    [[ -n ${TLS:-} ]] && tls=("etcd.ca=$WORK/tls/ca.pem" "etcd.certificate=$WORK/tls/client.pem" "etcd.key=$WORK/tls/client.key")
    launch "master$n" "$BUILD/master/edubba-master" coordinator=etcd "etcd.endpoints=$ETCD_ENDPOINTS" \
        "folder=$WORK/master$n" "address=tcp://127.0.0.1:$((PORT + 20 + n))" "http.address=127.0.0.1:$((PORT + 120 + n))" "${tls[@]}" "$@"
}

# The number of the active master, waited for.
active_master() {
    local port
    for _ in $(seq 1200); do
        port=$(ebt masters 2>/dev/null | awk '$2 == "active" { sub(/.*:/, "", $1); print $1; exit }')
        [[ -n $port ]] && { echo $((port - PORT - 20)); return; }
        sleep 0.05
    done
    echo none
}

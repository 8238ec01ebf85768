# Sourced by the tests of real processes: ports that nobody else has.
#
#   claim_ports      sets PORT: 200 ports from it on are this test's, until it and all that it started end
#
# Blocks lie below 32768, where the kernel gives out none of its own, and are locked: tests that run
# at the same time get others, and a block where anything listens or still closes is passed over.
claim_ports() {
    local block taken lock
    taken=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{ print $2 }' | grep -oE ':[0-9A-F]{4}$' | sort -u |
        while IFS=: read -r _ hex; do echo $((16#$hex)); done)
    for block in $(shuf -i 0-112); do
        PORT=$((10000 + 200 * block))
        exec {lock}>"/tmp/edubba-ports-$PORT.lock" || continue
        if flock -n "$lock" && ! awk -v from="$PORT" '$1 >= from && $1 < from + 200 { found = 1 } END { exit !found }' <<<"$taken"; then
            return 0
        fi
        exec {lock}>&-
    done
    echo "no 200 ports are free between 10000 and 32599"
    return 1
}

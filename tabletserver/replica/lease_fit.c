#include "tabletserver/replica/lease_internal.h"

#include <inttypes.h>

#define PER_MILLION   1000000
#define NS_PER_MS     1000000
#define NS_PER_US     1000
#define PACE_LEAST_NS (INT64_C(50) * NS_PER_MS) /* between two beacons */

/* Has a holder that counts so long stopped before a grantor with that grace is free?  Rounded against us. */
static bool fits(int64_t lease_ns, int64_t grace_ns, uint32_t drift_ppm)
{
    if (lease_ns <= 0 || lease_ns >= grace_ns) {
        return false;
    }
    int64_t slow_ns = lease_ns + (lease_ns / PER_MILLION + 1) * drift_ppm;
    int64_t fast_ns = grace_ns - (grace_ns / PER_MILLION + 1) * drift_ppm;
    return slow_ns < fast_ns;
}

/* The longest lease that does, to a millisecond.  Not above 0 where the grace makes no sense. */
static int64_t longest_that_fits(int64_t grace_ns, uint32_t drift_ppm)
{
    int64_t fast_ns = grace_ns - (grace_ns / PER_MILLION + 1) * drift_ppm;
    return (fast_ns / (PER_MILLION + drift_ppm) - 1) * PER_MILLION;
}

int64_t lease_counted_ns(struct lease *lease, struct peer *peer, int64_t said_ns)
{
    const struct lease_settings *ours = &lease->settings;
    int64_t grace_ns = said_ns != 0 ? said_ns : LEASE_EARLIER_GRACE_NS;
    if (fits(ours->lease_ns, grace_ns, ours->drift_ppm)) {
        peer->short_grace_ns = 0;
        return ours->lease_ns;
    }
    int64_t longest_ns = longest_that_fits(grace_ns, ours->drift_ppm);
    if (peer->short_grace_ns != grace_ns) {
        peer->short_grace_ns = grace_ns;
        struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_SHORTENED, peer->server);
        effect->lease_ns = longest_ns;
        effect->grace_ns = grace_ns;
    }
    return longest_ns;
}

/* The pace of beacons goes with the lease, or a short one would run out between two of a long one's. */
int64_t lease_pace_ns(const struct lease *lease, const struct peer *peer)
{
    const struct lease_settings *ours = &lease->settings;
    if (peer->counted_ns <= 0 || peer->counted_ns >= ours->lease_ns) {
        return ours->beacon_ns;
    }
    int64_t pace_ns = ours->beacon_ns / NS_PER_US * (peer->counted_ns / NS_PER_US) /
                      (ours->lease_ns / NS_PER_US) * NS_PER_US;
    int64_t least_ns = ours->beacon_ns < PACE_LEAST_NS ? ours->beacon_ns : PACE_LEAST_NS;
    return pace_ns > least_ns ? pace_ns : least_ns;
}

bool lease_looks_at_grace(struct lease *lease, struct peer *peer, const struct lease_beacon *beacon)
{
    const struct lease_settings *ours = &lease->settings;
    bool is_safe = beacon->lease_ns != 0 ||
                   fits(LEASE_EARLIER_LEASE_NS, ours->grace_ns, ours->drift_ppm);
    if (!is_safe && !peer->refused) {
        struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_NOT_GIVEN, peer->server);
        effect->lease_ns = LEASE_EARLIER_LEASE_NS;
        effect->grace_ns = ours->grace_ns;
    }
    peer->refused = !is_safe;
    return is_safe;
}

/* That fits, in whole milliseconds: the least of them, or one more. */
static int64_t least_grace_ms(int64_t lease_ns, uint32_t drift_ppm)
{
    int64_t slow_ns = lease_ns + (lease_ns / PER_MILLION + 1) * drift_ppm;
    int64_t grace_ms = slow_ns / (PER_MILLION - drift_ppm) + 1;
    return fits(lease_ns, grace_ms * NS_PER_MS, drift_ppm) ? grace_ms : grace_ms + 1;
}

enum status lease_settings_check(const struct lease_settings *settings, struct error *ret_error)
{
    const struct lease_settings *s = settings;
    if (s->beacon_ns <= 0 || s->lease_ns <= 0 || s->grace_ns <= 0 || s->drift_ppm >= PER_MILLION) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "beacon, lease and grace must be above 0");
    }
    if (s->lease_ns / 2 <= s->beacon_ns) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "lease, %" PRId64 " ms, must be longer than two beacons of %" PRId64
                         " ms, as one may be lost: raise lease, or lower beacon",
                         s->lease_ns / NS_PER_MS, s->beacon_ns / NS_PER_MS);
    }
    if (!fits(s->lease_ns, s->grace_ns, s->drift_ppm)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "grace, %" PRId64 " ms, must be longer than lease, %" PRId64
                         " ms, by what clocks may differ: raise grace to %" PRId64
                         " ms, or lower lease",
                         s->grace_ns / NS_PER_MS, s->lease_ns / NS_PER_MS,
                         least_grace_ms(s->lease_ns, s->drift_ppm));
    }
    return STATUS_OK;
}

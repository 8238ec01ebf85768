#include "tabletserver/replica/lease_internal.h"

void lease_send_beacon(struct lease *lease, struct peer *peer)
{
    peer->number++;
    peer->sent_ns[peer->number % SENT_MAX] = lease->now_ns;
    peer->sent_asked[peer->number % SENT_MAX] = lease->asked;
    peer->beacon_due_ns = lease->now_ns + lease_pace_ns(lease, peer);
    lease_emit(lease, LEASE_EFFECT_BEACON, peer->server)->beacon = (struct lease_beacon){
        .number = peer->number,
        .incarnation = lease->incarnation,
        .exceptions_seen = peer->exceptions_seen,
        .seen_of = peer->incarnation,
        .lease_ns = lease->settings.lease_ns,
    };
}

/* A beacon that is due brings what was asked since the last one, too; one that is lost is not waited for. */
void lease_send_if_asked(struct lease *lease, struct peer *peer)
{
    bool is_under_way = peer->number > peer->answered;
    if (peer->present && !is_under_way &&
        peer->sent_asked[peer->number % SENT_MAX] < lease->asked) {
        lease_send_beacon(lease, peer);
    }
}

static void confirm(struct lease *lease, struct peer *peer, uint64_t asked)
{
    if (asked > peer->confirmed) {
        peer->confirmed = asked;
        lease_emit(lease, LEASE_EFFECT_CONFIRMED, peer->server)->asked = asked;
    }
}

void lease_on_acknowledgement(struct lease *lease,
                              struct peer *peer,
                              const struct lease_acknowledgement *acknowledgement)
{
    if (acknowledgement->beacon_incarnation != lease->incarnation ||
        acknowledgement->exception_count > LEASE_EXCEPTIONS_MAX || acknowledgement->number == 0 ||
        acknowledgement->number > peer->number ||
        acknowledgement->number + SENT_MAX <= peer->number ||
        !lease_note_incarnation(lease, peer, acknowledgement->incarnation)) {
        return;
    }
    for (uint32_t i = 0; i < acknowledgement->exception_count; i++) {
        struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_EXCEPTED_BY_PEER,
                                                 peer->server);
        effect->tablet = acknowledgement->exceptions[i].tablet;
        effect->version = acknowledgement->exceptions[i].version;
    }
    if (acknowledgement->exceptions_number > peer->exceptions_seen) {
        peer->exceptions_seen = acknowledgement->exceptions_number;
    }
    peer->counted_ns = lease_counted_ns(lease, peer, acknowledgement->grace_ns);
    int64_t until_ns = peer->sent_ns[acknowledgement->number % SENT_MAX] + peer->counted_ns;
    if (acknowledgement->gives_lease && peer->counted_ns > 0 && until_ns > peer->held_until_ns) {
        peer->held_until_ns = until_ns;
        lease_emit(lease, LEASE_EFFECT_HELD_UNTIL, peer->server)->at_ns = until_ns;
    }
    if (acknowledgement->gives_lease) {
        confirm(lease, peer, peer->sent_asked[acknowledgement->number % SENT_MAX]);
    }
    if (acknowledgement->number > peer->answered) {
        peer->answered = acknowledgement->number;
    }
    lease_send_if_asked(lease, peer);
}

#include "master/coordinator/election.h"

#include "common/base/assert.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)
#define NEVER     INT64_MIN
#define RENEWALS  4 /* tries a lease */
#define PERMILLE  1000

void election_settings_default(struct election_settings *settings)
{
    *settings = (struct election_settings){
        .lease_ns = 2 * SECOND_NS,
        .look_ns = 100 * MS_NS,
        .retry_ns = 20 * MS_NS,
        .rate_error_permille = 50,
    };
}

void election_init(struct election *election, const struct election_settings *settings)
{
    ASSERT(settings->lease_ns > 0);
    ASSERT(settings->rate_error_permille < PERMILLE);
    *election = (struct election){
        .settings = *settings,
        .lease_until_ns = NEVER,
        .until_ns = NEVER,
        .next_ns = NEVER,
    };
}

bool election_may_act(const struct election *election, int64_t now_ns)
{
    return election->reign != 0 && now_ns < election->until_ns;
}

void election_check(const struct election *election)
{
    bool leading = election->phase == ELECTION_RENEWING || election->phase == ELECTION_PROVING;
    ASSERT(leading == (election->reign != 0));
    ASSERT(IMPLIES(election->reign != 0, election->lease != 0));
    ASSERT(IMPLIES(election->reign == 0, election->until_ns == NEVER));
    ASSERT(election->until_ns <= election->lease_until_ns);
}

/* --- asking ------------------------------------------------------------------------------------- */

void election_next(struct election *election,
                   int64_t now_ns,
                   struct election_question *ret_question)
{
    static const enum election_question_type questions[] = {
        [ELECTION_LOOKING] = ELECTION_LOOK,         [ELECTION_GRANTING] = ELECTION_GRANT,
        [ELECTION_CAMPAIGNING] = ELECTION_CAMPAIGN, [ELECTION_RENEWING] = ELECTION_RENEW,
        [ELECTION_PROVING] = ELECTION_LOOK,         [ELECTION_RESIGNING] = ELECTION_REVOKE,
    };
    ASSERT(!election->asking);
    if (now_ns < election->next_ns) {
        *ret_question = (struct election_question){ELECTION_WAIT, 0, election->next_ns};
        return;
    }
    election->asking = true;
    election->asked_ns = now_ns;
    *ret_question = (struct election_question){questions[election->phase], election->lease, now_ns};
}

/* --- answers ------------------------------------------------------------------------------------ */

static void go_to(struct election *election, enum election_phase phase, int64_t next_ns)
{
    election->phase = phase;
    election->next_ns = next_ns;
}

/* No reign and no lease: as at the start. */
static void begin_anew(struct election *election, int64_t next_ns)
{
    election->reign = 0;
    election->until_ns = NEVER;
    election->lease = 0;
    election->lease_until_ns = NEVER;
    go_to(election, ELECTION_LOOKING, next_ns);
}

/* A lease of ttl that was asked for then: until when may we count on it? */
static int64_t counted_until_ns(const struct election *election, int64_t ttl_ns)
{
    return election->asked_ns + ttl_ns - ttl_ns / PERMILLE * election->settings.rate_error_permille;
}

static bool is_ours(const struct election *election, const struct election_answer *answer)
{
    return answer->leader != 0 && election->lease != 0 && answer->leader_lease == election->lease;
}

static void begin_reign(struct election *election, uint64_t reign, int64_t renew_ns)
{
    election->reign = reign;
    election->until_ns = election->lease_until_ns;
    go_to(election, ELECTION_RENEWING, renew_ns);
}

static void on_look(struct election *election, int64_t now_ns, const struct election_answer *answer)
{
    const struct election_settings *settings = &election->settings;
    if (is_ours(election, answer)) {
        begin_reign(election, answer->leader, now_ns); /* the answer to our campaign was lost */
    } else if (answer->leader != 0) {
        begin_anew(election, now_ns + settings->look_ns);
    } else if (election->lease_until_ns < now_ns + settings->lease_ns / 2) {
        go_to(election, ELECTION_GRANTING, now_ns);
    } else {
        go_to(election, ELECTION_CAMPAIGNING, now_ns);
    }
}

static void on_grant(struct election *election,
                     int64_t now_ns,
                     const struct election_answer *answer)
{
    election->lease = answer->lease;
    election->lease_until_ns = counted_until_ns(election, answer->ttl_ns);
    go_to(election, ELECTION_CAMPAIGNING, now_ns);
}

static void on_campaign(struct election *election,
                        int64_t now_ns,
                        const struct election_answer *answer)
{
    if (is_ours(election, answer)) {
        begin_reign(election, answer->leader, now_ns + election->settings.lease_ns / RENEWALS);
    } else {
        begin_anew(election, now_ns + election->settings.look_ns);
    }
}

static void on_renewal(struct election *election,
                       int64_t now_ns,
                       const struct election_answer *answer)
{
    if (answer->ttl_ns == 0) {
        begin_anew(election, now_ns);
        return;
    }
    int64_t until_ns = counted_until_ns(election, answer->ttl_ns);
    if (until_ns > election->lease_until_ns) {
        election->lease_until_ns = until_ns;
    }
    go_to(election, ELECTION_PROVING, now_ns);
}

static void on_proof(struct election *election,
                     int64_t now_ns,
                     const struct election_answer *answer)
{
    if (answer->leader != election->reign || !is_ours(election, answer)) {
        begin_anew(election, now_ns);
        return;
    }
    election->until_ns = election->lease_until_ns;
    go_to(election, ELECTION_RENEWING, election->asked_ns + election->settings.lease_ns / RENEWALS);
}

/* Nobody knows what became of the question.  What was asked for may be there: looking tells. */
static void on_silence(struct election *election, int64_t now_ns)
{
    int64_t next_ns = now_ns + election->settings.retry_ns;
    switch (election->phase) {
    case ELECTION_LOOKING:
    case ELECTION_GRANTING:
    case ELECTION_CAMPAIGNING:
        go_to(election, ELECTION_LOOKING, next_ns);
        break;
    case ELECTION_RENEWING:
    case ELECTION_PROVING:
        go_to(election, ELECTION_RENEWING, next_ns);
        break;
    case ELECTION_RESIGNING:
        begin_anew(election, next_ns); /* the lease runs out by itself */
        break;
    }
}

void election_answer(struct election *election,
                     int64_t now_ns,
                     const struct election_answer *answer)
{
    ASSERT(election->asking);
    election->asking = false;
    if (!answer->answered) {
        on_silence(election, now_ns);
        return;
    }
    switch (election->phase) {
    case ELECTION_LOOKING:
        on_look(election, now_ns, answer);
        break;
    case ELECTION_GRANTING:
        on_grant(election, now_ns, answer);
        break;
    case ELECTION_CAMPAIGNING:
        on_campaign(election, now_ns, answer);
        break;
    case ELECTION_RENEWING:
        on_renewal(election, now_ns, answer);
        break;
    case ELECTION_PROVING:
        on_proof(election, now_ns, answer);
        break;
    case ELECTION_RESIGNING:
        begin_anew(election, now_ns + election->settings.look_ns);
        break;
    }
}

void election_resign(struct election *election, int64_t now_ns)
{
    ASSERT(!election->asking);
    if (election->reign == 0) {
        return;
    }
    election->reign = 0;
    election->until_ns = NEVER;
    go_to(election, ELECTION_RESIGNING, now_ns);
}

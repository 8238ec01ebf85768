/* The election, question by question. */
#include <criterion/criterion.h>

#include "master/coordinator/election.h"

#define MS INT64_C(1000000)

static struct election election;
static int64_t now_ns;

static void start(void)
{
    struct election_settings settings;
    election_settings_default(&settings);
    now_ns = 1000 * MS;
    election_init(&election, &settings);
}

TestSuite(election, .init = start);

/* The next question, after as much waiting as it wants. */
static struct election_question next(void)
{
    struct election_question question;
    election_next(&election, now_ns, &question);
    if (question.type == ELECTION_WAIT) {
        cr_assert_gt(question.until_ns, now_ns);
        now_ns = question.until_ns;
        election_next(&election, now_ns, &question);
    }
    cr_assert_neq(question.type, ELECTION_WAIT);
    return question;
}

static void answer(struct election_answer answer)
{
    now_ns += 2 * MS;
    answer.answered = true;
    election_answer(&election, now_ns, &answer);
    election_check(&election);
}

static void silence(void)
{
    const struct election_answer none = {0};
    now_ns += 500 * MS;
    election_answer(&election, now_ns, &none);
    election_check(&election);
}

static void lead(void)
{
    cr_assert_eq(next().type, ELECTION_LOOK);
    answer((struct election_answer){.leader = 0});
    cr_assert_eq(next().type, ELECTION_GRANT);
    answer((struct election_answer){.lease = 77, .ttl_ns = 2000 * MS});
    struct election_question question = next();
    cr_assert_eq(question.type, ELECTION_CAMPAIGN);
    cr_assert_eq(question.lease, 77);
    answer((struct election_answer){.leader = 9, .leader_lease = 77});
    cr_assert_eq(election.reign, 9);
}

Test(election, who_creates_the_key_leads_for_the_lease_less_the_rate_error)
{
    lead();
    int64_t granted_ns = 1002 * MS; /* asked when the look was answered */
    cr_assert(election_may_act(&election, granted_ns + 1899 * MS));
    cr_assert_not(election_may_act(&election, granted_ns + 1900 * MS));
}

Test(election, who_finds_a_leader_looks_again)
{
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(next().type, ELECTION_LOOK);
        answer((struct election_answer){.leader = 5, .leader_lease = 6});
        cr_assert_eq(election.reign, 0);
    }
}

Test(election, who_was_too_late_looks_on)
{
    next();
    answer((struct election_answer){.leader = 0});
    next();
    answer((struct election_answer){.lease = 77, .ttl_ns = 2000 * MS});
    next();
    answer((struct election_answer){.leader = 8, .leader_lease = 66});
    cr_assert_eq(election.reign, 0);
    cr_assert_eq(next().type, ELECTION_LOOK);
}

Test(election, a_campaign_whose_answer_was_lost_is_found_by_looking)
{
    next();
    answer((struct election_answer){.leader = 0});
    next();
    answer((struct election_answer){.lease = 77, .ttl_ns = 2000 * MS});
    cr_assert_eq(next().type, ELECTION_CAMPAIGN);
    silence();
    cr_assert_eq(election.reign, 0);
    cr_assert_eq(next().type, ELECTION_LOOK);
    answer((struct election_answer){.leader = 9, .leader_lease = 77});
    cr_assert_eq(election.reign, 9);
    cr_assert_eq(next().type, ELECTION_RENEW, "its lease is old");
}

Test(election, renewing_alone_proves_nothing)
{
    lead();
    int64_t before_ns = election.until_ns;
    cr_assert_eq(next().type, ELECTION_RENEW);
    answer((struct election_answer){.ttl_ns = 2000 * MS});
    cr_assert_eq(election.until_ns, before_ns);
    cr_assert_eq(next().type, ELECTION_LOOK);
    answer((struct election_answer){.leader = 9, .leader_lease = 77});
    cr_assert_gt(election.until_ns, before_ns);
}

Test(election, silence_suspends_and_a_proof_resumes_the_same_reign)
{
    lead();
    while (election_may_act(&election, now_ns)) {
        cr_assert_eq(next().type, ELECTION_RENEW);
        silence();
    }
    cr_assert_eq(election.reign, 9, "suspended, not deposed");
    cr_assert_eq(next().type, ELECTION_RENEW);
    answer((struct election_answer){.ttl_ns = 2000 * MS});
    cr_assert_not(election_may_act(&election, now_ns));
    cr_assert_eq(next().type, ELECTION_LOOK);
    answer((struct election_answer){.leader = 9, .leader_lease = 77});
    cr_assert(election_may_act(&election, now_ns));
    cr_assert_eq(election.reign, 9);
}

Test(election, a_lease_that_is_gone_ends_the_reign)
{
    lead();
    next();
    answer((struct election_answer){.ttl_ns = 0});
    cr_assert_eq(election.reign, 0);
    cr_assert_eq(next().type, ELECTION_LOOK);
}

Test(election, a_key_of_another_ends_the_reign_though_the_lease_lives)
{
    lead();
    next();
    answer((struct election_answer){.ttl_ns = 2000 * MS});
    next();
    answer((struct election_answer){.leader = 12, .leader_lease = 66});
    cr_assert_eq(election.reign, 0);
}

Test(election, a_key_made_anew_under_the_old_lease_ends_the_reign)
{
    lead();
    next();
    answer((struct election_answer){.ttl_ns = 2000 * MS});
    next();
    answer((struct election_answer){.leader = 12, .leader_lease = 77});
    cr_assert_eq(election.reign, 0);
}

Test(election, resigning_revokes_and_does_not_take_the_old_reign_up_again)
{
    lead();
    election_resign(&election, now_ns);
    cr_assert_eq(election.reign, 0);
    cr_assert_eq(next().type, ELECTION_REVOKE);
    silence();
    cr_assert_eq(next().type, ELECTION_LOOK);
    answer((struct election_answer){.leader = 9, .leader_lease = 77});
    cr_assert_eq(election.reign, 0, "that key is waited for like another's");
    cr_assert_eq(next().type, ELECTION_LOOK);
}

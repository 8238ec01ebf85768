/* When trouble that may last is logged. */
#include <criterion/criterion.h>

#include "master/shell/complaint.h"

#define SECOND_NS INT64_C(1000000000)

/* How often it is said in so many seconds from begun_ns on, met every 30 ms. */
static int count_said(struct complaint *complaint, int64_t begun_ns, int64_t seconds)
{
    int said = 0;
    for (int64_t ns = begun_ns; ns < begun_ns + seconds * SECOND_NS; ns += 30 * SECOND_NS / 1000) {
        said += complaint_is_due(complaint, ns);
    }
    return said;
}

/* An etcd that is full answers who looks, and refuses who stands for election: 40 lines a second were logged. */
Test(complaint, is_said_when_it_begins_and_once_a_minute_while_it_lasts)
{
    struct complaint complaint = {0};
    cr_assert(complaint_is_due(&complaint, SECOND_NS));
    cr_assert_eq(count_said(&complaint, SECOND_NS, 59), 0);
    cr_assert_eq(count_said(&complaint, 60 * SECOND_NS, 300), 5);
}

Test(complaint, is_said_at_once_where_it_begins_again)
{
    struct complaint complaint = {0};
    cr_assert_eq(count_said(&complaint, SECOND_NS, 1), 1);
    cr_assert_eq(count_said(&complaint, 13 * SECOND_NS, 1), 1);
    cr_assert_eq(count_said(&complaint, 20 * SECOND_NS, 1), 0, "it comes and goes");
}

/* Every entry is told once, in order, whatever failed. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "gateway/methods/write/entry_message.h"

#define CLIENT_MESSAGE_BYTES_MAX (4u << 20)

static void expect_all(struct entry_outcomes *outcomes,
                       const struct entry_failure *failures,
                       size_t failure_count,
                       uint64_t *ret_messages)
{
    bool is_last = false;
    size_t next = 0;
    size_t failure = 0;
    *ret_messages = 0;
    while (!is_last) {
        Google__Bigtable__V2__MutateRowsResponse response;
        cr_assert_eq(entry_outcomes_next(outcomes, &response, &is_last), STATUS_OK);
        cr_assert_leq(google__bigtable__v2__mutate_rows_response__get_packed_size(&response),
                      CLIENT_MESSAGE_BYTES_MAX);
        for (size_t i = 0; i < response.n_entries; i++, next++) {
            const Google__Rpc__Status *status = response.entries[i]->status;
            bool fails = failure < failure_count && failures[failure].entry == next;
            cr_assert_eq(response.entries[i]->index, (int64_t)next);
            cr_assert_not_null(status);
            cr_assert_eq(status->code, fails ? (int)failures[failure].code : 0);
            cr_assert_str_eq(status->message, fails ? failures[failure].text : "");
            failure += fails ? 1 : 0;
        }
        (*ret_messages)++;
    }
    cr_assert_eq(next, outcomes->entry_count);
    cr_assert_eq(failure, failure_count);
}

Test(entry_message, every_entry_is_told_once)
{
    static const char *const texts[] = {"no", "Column family type mismatch", ""};
    struct prng prng = prng_of_seed(2);
    struct entry_failure *failures = memory_allocate(20000 * sizeof *failures);
    for (int round = 0; round < 60; round++) {
        struct entry_outcomes outcomes;
        uint64_t messages = 0;
        size_t entry_count = 1 + prng_below(&prng, prng_chance(&prng, 4) ? 20000 : 20);
        size_t failure_count = 0;
        uint64_t one_in = 1 + prng_below(&prng, 20);
        for (size_t i = 0; i < entry_count; i++) {
            if (prng_chance(&prng, one_in)) {
                failures[failure_count++] = (struct entry_failure){i, EDUBBA_NOT_FOUND,
                                                                   texts[prng_below(&prng, 3)]};
            }
        }
        entry_outcomes_init(&outcomes, entry_count);
        cr_assert_eq(entry_outcomes_reserve(&outcomes, failure_count), STATUS_OK);
        for (size_t i = 0; i < failure_count; i++) {
            cr_assert_eq(entry_outcomes_add(&outcomes, failures[i].entry, failures[i].code,
                                            failures[i].text),
                         STATUS_OK);
        }
        expect_all(&outcomes, failures, failure_count, &messages);
        cr_assert_eq(messages,
                     (entry_count + ENTRY_MESSAGE_ENTRIES_MAX - 1) / ENTRY_MESSAGE_ENTRIES_MAX);
        entry_outcomes_deinit(&outcomes);
    }
    memory_free(failures);
}

Test(entry_message, long_texts_make_more_messages)
{
    static char text[1000];
    static struct entry_failure failures[5000];
    struct entry_outcomes outcomes;
    uint64_t messages = 0;
    memset(text, 'x', sizeof text - 1);
    entry_outcomes_init(&outcomes, 5000);
    cr_assert_eq(entry_outcomes_reserve(&outcomes, 5000), STATUS_OK);
    for (size_t i = 0; i < 5000; i++) {
        failures[i] = (struct entry_failure){i, EDUBBA_UNAVAILABLE, text};
        cr_assert_eq(entry_outcomes_add(&outcomes, i, EDUBBA_UNAVAILABLE, text), STATUS_OK);
    }
    cr_assert_lt(outcomes.arena.used_bytes, 5000 * sizeof *failures + 4096, "kept once");
    expect_all(&outcomes, failures, 5000, &messages);
    cr_assert_geq(messages, 4);
    entry_outcomes_deinit(&outcomes);
}

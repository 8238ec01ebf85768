/* The committer: one transaction after the other; after a refusal, whether there is room again. */
#include <criterion/criterion.h>

#include "common/io/mailbox.h"
#include "master/core/record/record.h"
#include "master/shell/committer.h"

static const struct coordinator_identity identity = {1, 77};

static struct coordinator *coordinator;
static struct committer *committer;
static struct mailbox *results;

static void on_done(void *context, const struct committer_result *result)
{
    (void)context;
    cr_assert(mailbox_push(results, result));
}

static void start(void)
{
    const struct mailbox_settings mailbox = {sizeof(struct committer_result), 64, 0};
    struct error error = {0};
    cr_assert_eq(mailbox_create(&mailbox, &results), STATUS_OK);
    cr_assert_eq(coordinator_create_memory(&identity, &coordinator, &error), STATUS_OK);
    const struct committer_options options = {coordinator, NULL, on_done};
    cr_assert_eq(committer_open(&options, &committer, &error), STATUS_OK);
}

static void stop(void)
{
    committer_close(committer);
    coordinator_close(coordinator);
    mailbox_destroy(results);
}

TestSuite(committer, .init = start, .fini = stop, .timeout = 300);

static struct committer_result take_result(void)
{
    struct committer_result result;
    cr_assert_eq(mailbox_take(results, &result, 1, MAILBOX_WAIT_FOR_EVER), 1);
    return result;
}

static void append_record(struct bytes key, struct bytes value, struct buffer *out)
{
    buffer_append_bytes(out, key);
    buffer_append_bytes(out, value);
}

static enum status take_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    (void)ret_error;
    append_record(key, value, context);
    return STATUS_OK;
}

/* All that is there, one after the other. */
static struct buffer records(void)
{
    struct buffer all = BUFFER_INIT;
    struct error error = {0};
    cr_assert_eq(coordinator_load(coordinator, take_record, &all, &error), STATUS_OK);
    return all;
}

static void commit(uint64_t transaction, enum status expected)
{
    const struct catalog_put put = {.key = bytes_of_text("X"), .value = bytes_of_text("a value")};
    committer_start(committer, transaction, &put, 1);
    struct committer_result result = take_result();
    cr_assert_eq(result.transaction, transaction);
    cr_assert_eq(result.status, expected, "%s", result.text);
}

Test(committer, a_trial_tells_whether_there_is_room_and_changes_nothing)
{
    struct buffer before = records();
    coordinator_memory_fail(coordinator, 0, 2);
    commit(1, STATUS_NO_SPACE);
    committer_try(committer);
    struct committer_result result = take_result();
    cr_assert_eq(result.transaction, 0);
    cr_assert_eq(result.status, STATUS_NO_SPACE);
    committer_try(committer);
    result = take_result();
    cr_assert_eq(result.transaction, 0);
    cr_assert_eq(result.status, STATUS_OK, "%s", result.text);
    struct buffer after = records();
    cr_assert(bytes_equal(buffer_bytes(&before), buffer_bytes(&after)));
    buffer_deinit(&before);
    buffer_deinit(&after);
    commit(2, STATUS_OK);
}

Test(committer, trials_and_transactions_do_not_meet)
{
    for (uint64_t i = 1; i <= 20; i++) {
        const struct catalog_put put = {.key = bytes_of_text("X"), .value = bytes_of(&i, 1)};
        committer_try(committer);
        committer_start(committer, i, &put, 1);
        struct committer_result result;
        do {
            result = take_result();
            cr_assert_eq(result.status, STATUS_OK);
        } while (result.transaction == 0);
        cr_assert_eq(result.transaction, i);
    }
}

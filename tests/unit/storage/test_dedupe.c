#include <criterion/criterion.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/record/dedupe.h"

#define START_US INT64_C(1000000000000)

static const struct dedupe_limits limits = {
    .clients_max = 100, .records_max = 1000, .result_bytes_max = 100000};

static struct dedupe *make(void)
{
    struct dedupe *dedupe = NULL;
    cr_assert_eq(dedupe_create(&limits, &dedupe), STATUS_OK);
    return dedupe;
}

static struct request_id request_of(uint64_t client, uint64_t sequence, uint64_t first_unfinished)
{
    return (struct request_id){client, sequence, first_unfinished, START_US};
}

static enum dedupe_verdict check_at(struct dedupe *dedupe,
                                    struct request_id request,
                                    int64_t now_us)
{
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;
    return dedupe_check(dedupe, &request, hlc_of_us(now_us), &result, &sequence);
}

static enum dedupe_verdict check(struct dedupe *dedupe, struct request_id request)
{
    return check_at(dedupe, request, START_US);
}

static void record(struct dedupe *dedupe, struct request_id request, uint64_t sequence)
{
    cr_assert_eq(dedupe_record(dedupe, &request, sequence, hlc_of_us(START_US), BYTES_EMPTY),
                 STATUS_OK);
}

Test(dedupe, a_request_is_new_then_pending_then_done)
{
    struct dedupe *dedupe = make();
    struct request_id request = request_of(7, 1, 1);
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;
    cr_assert_eq(check(dedupe, request), DEDUPE_NEW);
    cr_assert_eq(dedupe_record(dedupe, &request, 40, hlc_of_us(START_US), bytes_of_text("yes")),
                 STATUS_OK);
    cr_assert_eq(dedupe_check(dedupe, &request, hlc_of_us(START_US), &result, &sequence),
                 DEDUPE_PENDING);
    cr_assert_eq(sequence, 40);
    dedupe_commit(dedupe, 39);
    cr_assert_eq(check(dedupe, request), DEDUPE_PENDING);
    dedupe_commit(dedupe, 40);
    cr_assert_eq(dedupe_check(dedupe, &request, hlc_of_us(START_US), &result, &sequence),
                 DEDUPE_DONE);
    cr_assert(bytes_equal(result, bytes_of_text("yes")));
    dedupe_destroy(dedupe);
}

Test(dedupe, without_identity_everything_is_new)
{
    struct dedupe *dedupe = make();
    struct request_id request = {0};
    cr_assert_eq(check(dedupe, request), DEDUPE_NEW);
    record(dedupe, request, 1);
    cr_assert_eq(check(dedupe, request), DEDUPE_NEW);
    cr_assert_eq(dedupe_client_count(dedupe), 0);
    dedupe_destroy(dedupe);
}

Test(dedupe, records_go_when_the_client_no_longer_waits)
{
    struct dedupe *dedupe = make();
    const uint64_t order[] = {5, 1, 4, 2, 3, 9, 8}; /* as several connections deliver them */
    for (size_t i = 0; i < 7; i++) {
        record(dedupe, request_of(7, order[i], 1), i + 1);
    }
    cr_assert_eq(dedupe_record_count(dedupe), 7);
    cr_assert_eq(check(dedupe, request_of(7, 10, 5)), DEDUPE_NEW);
    cr_assert_eq(dedupe_record_count(dedupe), 3); /* 5, 8, 9 */
    cr_assert_eq(check(dedupe, request_of(7, 4, 1)), DEDUPE_EXPIRED);
    cr_assert_neq(check(dedupe, request_of(7, 5, 1)), DEDUPE_NEW);
    record(dedupe, request_of(7, 10, 10), 8);
    cr_assert_eq(dedupe_record_count(dedupe), 1);
    record(dedupe, request_of(7, 3, 1), 9); /* replayed, but nobody can ask for it any more */
    cr_assert_eq(dedupe_record_count(dedupe), 1);
    dedupe_destroy(dedupe);
}

/* What one log record brought is kept together, and still known request by request. */
Test(dedupe, requests_of_one_log_record_are_told_apart)
{
    struct dedupe *dedupe = make();
    for (uint64_t sequence = 60; sequence < 200; sequence += sequence % 3 == 0 ? 1 : 2) {
        record(dedupe, request_of(7, sequence, 1), 1); /* without 62, 65 and so on */
    }
    record(dedupe, request_of(7, 62, 1), 2);
    dedupe_commit(dedupe, 1);
    for (uint64_t sequence = 50; sequence < 210; sequence++) {
        bool is_on_record = sequence >= 60 && sequence < 200 && sequence % 3 != 2;
        enum dedupe_verdict verdict = check(dedupe, request_of(7, sequence, 1));
        cr_assert_eq(verdict, sequence == 62 ? DEDUPE_PENDING
                              : is_on_record ? DEDUPE_DONE
                                             : DEDUPE_NEW);
    }
    cr_assert_eq(dedupe_record_count(dedupe), 95);
    cr_assert_eq(check(dedupe, request_of(7, 400, 130)), DEDUPE_NEW);
    cr_assert_eq(dedupe_record_count(dedupe), 47);
    cr_assert_eq(check(dedupe, request_of(7, 129, 129)), DEDUPE_EXPIRED);
    cr_assert_eq(check(dedupe, request_of(7, 130, 130)), DEDUPE_DONE);
    dedupe_destroy(dedupe);
}

Test(dedupe, a_request_that_its_own_client_does_not_wait_for_is_refused)
{
    struct dedupe *dedupe = make();
    cr_assert_eq(check(dedupe, request_of(7, 4, 5)), DEDUPE_EXPIRED);
    dedupe_destroy(dedupe);
}

Test(dedupe, old_attempts_are_refused_known_or_not)
{
    struct dedupe *dedupe = make();
    struct request_id request = request_of(7, 1, 1);
    record(dedupe, request, 1);
    dedupe_commit(dedupe, 1);
    cr_assert_eq(check_at(dedupe, request, START_US + LIMIT_DEDUPE_WINDOW_US), DEDUPE_DONE);
    cr_assert_eq(check_at(dedupe, request, START_US + LIMIT_DEDUPE_WINDOW_US + 1), DEDUPE_EXPIRED);
    request.client = 8;
    cr_assert_eq(check_at(dedupe, request, START_US + LIMIT_DEDUPE_WINDOW_US), DEDUPE_NEW);
    cr_assert_eq(check_at(dedupe, request, START_US + LIMIT_DEDUPE_WINDOW_US + 1), DEDUPE_EXPIRED);
    request.first_attempt_us = START_US + LIMIT_DEDUPE_WINDOW_US + 1;
    cr_assert_eq(check_at(dedupe, request, START_US), DEDUPE_EXPIRED); /* from the future */
    request.first_attempt_us = INT64_MAX;
    cr_assert_eq(check_at(dedupe, request, START_US), DEDUPE_EXPIRED);
    request.first_attempt_us = INT64_MIN;
    cr_assert_eq(check_at(dedupe, request, START_US), DEDUPE_EXPIRED);
    dedupe_destroy(dedupe);
}

/* A client whose clock runs ahead: what it calls its first attempt is let in for longer, so the
 * record must stay for longer. */
Test(dedupe, a_record_outlives_every_retry_that_could_be_let_in)
{
    struct dedupe *dedupe = make();
    struct request_id request = request_of(7, 1, 1);
    request.first_attempt_us = START_US + LIMIT_DEDUPE_WINDOW_US / 2;
    record(dedupe, request, 1);
    dedupe_commit(dedupe, 1);
    int64_t late_us = request.first_attempt_us + LIMIT_DEDUPE_WINDOW_US;
    struct request_id other = request_of(8, 1, 1);
    for (uint64_t i = 0; i < 10; i++) { /* time goes on by what is recorded */
        other.sequence++;
        cr_assert_eq(dedupe_record(dedupe, &other, i + 2, hlc_of_us(late_us), BYTES_EMPTY),
                     STATUS_OK);
    }
    cr_assert_eq(check_at(dedupe, request, late_us), DEDUPE_DONE);
    cr_assert_eq(check_at(dedupe, request, late_us + 1), DEDUPE_EXPIRED);
    dedupe_destroy(dedupe);
}

Test(dedupe, what_is_older_than_the_window_is_forgotten_a_little_at_a_time)
{
    struct dedupe *dedupe = make();
    for (uint64_t client = 1; client <= 50; client++) {
        record(dedupe, request_of(client, 1, 1), client);
        record(dedupe, request_of(client, 2, 1), client);
    }
    struct request_id stuck = request_of(1000, 1, 1); /* active, but never finishes its first */
    int64_t later_us = START_US + LIMIT_DEDUPE_WINDOW_US + 1;
    record(dedupe, stuck, 1);
    for (uint64_t i = 2; i <= 60; i++) {
        stuck.sequence = i;
        stuck.first_attempt_us = later_us;
        cr_assert_eq(dedupe_record(dedupe, &stuck, i, hlc_of_us(later_us), BYTES_EMPTY), STATUS_OK);
    }
    cr_assert_eq(dedupe_client_count(dedupe), 1);
    cr_assert_eq(dedupe_record_count(dedupe), 59); /* its own old one went too */
    dedupe_destroy(dedupe);
}

Test(dedupe, limits_push_back)
{
    struct dedupe *dedupe = make();
    for (uint64_t client = 1; client <= 100; client++) {
        cr_assert_eq(check(dedupe, request_of(client, 1, 1)), DEDUPE_NEW);
        record(dedupe, request_of(client, 1, 1), 1);
    }
    cr_assert_eq(check(dedupe, request_of(101, 1, 1)), DEDUPE_FULL);
    cr_assert_eq(check(dedupe, request_of(100, 2, 1)), DEDUPE_NEW);
    for (uint64_t sequence = 2; sequence <= 901; sequence++) {
        record(dedupe, request_of(1, sequence, 1), 2);
    }
    cr_assert_eq(check(dedupe, request_of(1, 902, 1)), DEDUPE_FULL);
    cr_assert_eq(dedupe_reserve(dedupe, 1, 0), STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(check(dedupe, request_of(1, 902, 500)), DEDUPE_NEW); /* it makes room itself */
    cr_assert_eq(dedupe_reserve(dedupe, 1, 100001), STATUS_OK); /* the log says what is kept */
    cr_assert_eq(dedupe_reserve(dedupe, 498, 100000), STATUS_OK);
    cr_assert_eq(dedupe_reserve(dedupe, 500, 0), STATUS_RESOURCE_EXHAUSTED);
    /* When the others are old, they go. */
    struct request_id late = request_of(101, 1, 1);
    late.first_attempt_us = START_US + LIMIT_DEDUPE_WINDOW_US + 1;
    int unsuccessful = 0;
    while (check_at(dedupe, late, late.first_attempt_us) == DEDUPE_FULL) {
        cr_assert_lt(++unsuccessful, 100);
    }
    dedupe_destroy(dedupe);
}

Test(dedupe, results_that_are_kept_are_bounded_and_refuse_no_request)
{
    static uint8_t large[60000];
    struct dedupe *dedupe = make();
    struct request_id request = request_of(1, 1, 1);
    uint64_t now = hlc_of_us(START_US);
    cr_assert(dedupe_has_room(dedupe, 100000, now));
    cr_assert_not(dedupe_has_room(dedupe, 100001, now));
    cr_assert_eq(dedupe_record(dedupe, &request, 1, now, bytes_of(large, sizeof large)), STATUS_OK);
    cr_assert(dedupe_has_room(dedupe, 40000, now));
    cr_assert_not(dedupe_has_room(dedupe, 40001, now));
    request.sequence = 2; /* by the log */
    cr_assert_eq(dedupe_record(dedupe, &request, 2, now, bytes_of(large, sizeof large)), STATUS_OK);
    cr_assert_not(dedupe_has_room(dedupe, 0, now));
    cr_assert_eq(check(dedupe, request_of(2, 1, 1)), DEDUPE_NEW);
    cr_assert_eq(dedupe_reserve(dedupe, 1, 1), STATUS_OK);
    /* What nobody asks for any more makes room. */
    cr_assert(dedupe_has_room(dedupe, 100000, hlc_of_us(START_US + 2 * LIMIT_DEDUPE_WINDOW_US)));
    dedupe_destroy(dedupe);
}

Test(dedupe, what_was_reserved_cannot_fail)
{
    struct prng prng = prng_of_seed(5);
    struct dedupe *dedupe = make();
    uint64_t sequence = 0;
    static uint8_t text[4000];
    for (int round = 0; round < 200; round++) {
        uint32_t count = 1 + (uint32_t)prng_below(&prng, 8);
        size_t sizes[8];
        size_t total = 0;
        for (uint32_t i = 0; i < count; i++) {
            sizes[i] = prng_below(&prng, prng_chance(&prng, 10) ? sizeof text : 40);
            total += sizes[i];
        }
        cr_assert_eq(dedupe_reserve(dedupe, count, total), STATUS_OK);
        memory_fail_arm(prng_below(&prng, 3), 1);
        for (uint32_t i = 0; i < count; i++) {
            struct request_id request = request_of(1 + prng_below(&prng, 20), ++sequence, 1);
            request.first_unfinished = sequence > 60 ? sequence - 60 : 1;
            cr_assert_eq(dedupe_record(dedupe, &request, sequence, hlc_of_us(START_US),
                                       bytes_of(text, sizes[i])),
                         STATUS_OK);
        }
        memory_fail_disarm();
    }
    dedupe_destroy(dedupe);
}

Test(dedupe, without_memory_nothing_half_done)
{
    for (uint64_t after = 0; after < 30; after++) {
        memory_fail_arm(after, 1);
        struct dedupe *dedupe = NULL;
        enum status status = dedupe_create(&limits, &dedupe);
        uint32_t recorded = 0;
        for (uint64_t i = 1; i <= 40 && status == STATUS_OK; i++) {
            struct request_id request = request_of(i % 3 + 1, i, 1);
            status = dedupe_record(dedupe, &request, i, hlc_of_us(START_US), BYTES_EMPTY);
            recorded += status == STATUS_OK ? 1 : 0;
        }
        memory_fail_disarm();
        cr_assert(dedupe == NULL || dedupe_record_count(dedupe) == recorded);
        dedupe_destroy(dedupe);
    }
}

static void fill(struct dedupe *dedupe)
{
    for (uint64_t i = 1; i <= 30; i++) {
        struct request_id request = request_of(i % 4 + 1, i, i > 20 ? i - 10 : 1);
        cr_assert_eq(dedupe_record(dedupe, &request, i, hlc_of_us(START_US + (int64_t)i),
                                   i % 2 == 0 ? BYTES_EMPTY : bytes_of(&i, sizeof i)),
                     STATUS_OK);
    }
}

Test(dedupe, an_image_holds_what_is_committed)
{
    struct dedupe *dedupe = make();
    struct dedupe *copy = make();
    struct buffer image = BUFFER_INIT;
    fill(dedupe);
    dedupe_commit(dedupe, 25);
    dedupe_encode(dedupe, &image);
    cr_assert_eq(dedupe_load(copy, buffer_bytes(&image), NULL), STATUS_OK);
    cr_assert_eq(dedupe_record_count(copy), dedupe_record_count(dedupe) - 5);
    cr_assert_eq(check(copy, request_of(25 % 4 + 1, 25, 1)), DEDUPE_DONE);
    cr_assert_eq(check(copy, request_of(26 % 4 + 1, 26, 1)), DEDUPE_NEW);
    cr_assert_eq(check(copy, request_of(2 % 4 + 1, 2, 1)), DEDUPE_EXPIRED);
    dedupe_drop_above(copy, 0); /* what an image brought is of no entry that could be dropped */
    cr_assert_eq(check(copy, request_of(25 % 4 + 1, 25, 1)), DEDUPE_DONE);
    /* Into one that has them, uncommitted: then it knows better. */
    struct dedupe *other = make();
    fill(other);
    cr_assert_eq(check(other, request_of(25 % 4 + 1, 25, 1)), DEDUPE_PENDING);
    cr_assert_eq(dedupe_load(other, buffer_bytes(&image), NULL), STATUS_OK);
    cr_assert_eq(check(other, request_of(25 % 4 + 1, 25, 1)), DEDUPE_DONE);
    cr_assert_eq(check(other, request_of(26 % 4 + 1, 26, 1)), DEDUPE_PENDING);
    cr_assert_eq(dedupe_record_count(other), dedupe_record_count(dedupe));
    buffer_deinit(&image);
    dedupe_destroy(dedupe);
    dedupe_destroy(copy);
    dedupe_destroy(other);
}

Test(dedupe, a_bad_image_is_refused_whole)
{
    struct dedupe *dedupe = make();
    struct dedupe *copy = make();
    struct buffer image = BUFFER_INIT;
    struct error error;
    fill(dedupe);
    dedupe_commit(dedupe, 100);
    dedupe_encode(dedupe, &image);
    for (size_t size = 0; size < image.size_bytes; size++) {
        cr_assert_eq(dedupe_load(copy, bytes_of(image.data, size), &error), STATUS_CORRUPT);
        cr_assert_eq(dedupe_client_count(copy), 0);
    }
    image.data[0]++;
    cr_assert_eq(dedupe_load(copy, buffer_bytes(&image), &error), STATUS_VERSION);
    image.data[0]--;
    buffer_append_u8(&image, 0);
    cr_assert_eq(dedupe_load(copy, buffer_bytes(&image), &error), STATUS_CORRUPT);
    image.size_bytes--;
    struct prng prng = prng_of_seed(9);
    for (int i = 0; i < 20000; i++) { /* nothing but a status, whatever the bytes */
        struct dedupe *victim = make();
        size_t place = prng_below(&prng, image.size_bytes);
        uint8_t before = image.data[place];
        image.data[place] = (uint8_t)prng_next(&prng);
        enum status status = dedupe_load(victim, buffer_bytes(&image), &error);
        cr_assert(status == STATUS_OK || status == STATUS_CORRUPT || status == STATUS_VERSION);
        image.data[place] = before;
        dedupe_destroy(victim);
    }
    for (uint64_t after = 0; after < 2; after++) {
        memory_fail_arm(after, 1);
        cr_assert_eq(dedupe_load(copy, buffer_bytes(&image), &error), STATUS_NO_MEMORY);
        memory_fail_disarm();
        cr_assert_eq(dedupe_client_count(copy), 0);
    }
    buffer_deinit(&image);
    dedupe_destroy(dedupe);
    dedupe_destroy(copy);
}

/* All that it needs is reserved before the first record is taken. */
Test(dedupe, an_image_that_is_begun_is_loaded_whole)
{
    static uint8_t text[4000];
    struct dedupe *dedupe = make();
    struct dedupe *copy = make();
    struct buffer image = BUFFER_INIT;
    for (uint64_t i = 1; i <= 20; i++) {
        struct request_id request = request_of(i % 4 + 1, i, 1);
        cr_assert_eq(
            dedupe_record(dedupe, &request, i, hlc_of_us(START_US), bytes_of(text, sizeof text)),
            STATUS_OK);
    }
    dedupe_commit(dedupe, 20);
    dedupe_encode(dedupe, &image);
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t after = 0; status != STATUS_OK; after++) {
        cr_assert_eq(dedupe_record_count(copy), 0);
        cr_assert_lt(after, 10);
        memory_fail_arm(after, 1);
        status = dedupe_load(copy, buffer_bytes(&image), NULL);
        memory_fail_disarm();
        cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY);
    }
    cr_assert_eq(dedupe_record_count(copy), 20);
    cr_assert_eq(check(copy, request_of(20 % 4 + 1, 20, 1)), DEDUPE_DONE);
    buffer_deinit(&image);
    dedupe_destroy(dedupe);
    dedupe_destroy(copy);
}

/* By age an image's record may stand before, between and behind those of entries. */
Test(dedupe, requests_of_dropped_entries_are_found_behind_what_an_image_brought)
{
    struct dedupe *teacher = make();
    struct dedupe *dedupe = make();
    struct buffer image = BUFFER_INIT;
    struct request_id taught = request_of(7, 1, 1);
    cr_assert_eq(dedupe_record(teacher, &taught, 1, hlc_of_us(START_US + 50), BYTES_EMPTY),
                 STATUS_OK);
    dedupe_commit(teacher, 1);
    dedupe_encode(teacher, &image);
    record(dedupe, request_of(8, 1, 1), 5);
    cr_assert_eq(dedupe_load(dedupe, buffer_bytes(&image), NULL), STATUS_OK);
    dedupe_drop_above(dedupe, 4);
    cr_assert_eq(check(dedupe, request_of(8, 1, 1)), DEDUPE_NEW);
    cr_assert_eq(check(dedupe, request_of(7, 1, 1)), DEDUPE_DONE);
    buffer_deinit(&image);
    dedupe_destroy(teacher);
    dedupe_destroy(dedupe);
}

/* A hostile client: descending sequences, then everything finished at once. */
Test(dedupe, many_records_of_one_client_stay_cheap)
{
    struct dedupe_limits large = {10, 1000000, 1000};
    struct dedupe *dedupe = NULL;
    cr_assert_eq(dedupe_create(&large, &dedupe), STATUS_OK);
    for (uint64_t i = 200000; i > 0; i--) {
        record(dedupe, request_of(1, i, 1), 1);
    }
    for (uint64_t i = 1; i <= 200000; i++) {
        (void)check(dedupe, request_of(1, 200000 + i, i + 1));
        cr_assert_eq(dedupe_record_count(dedupe), 200000 - i);
    }
    dedupe_destroy(dedupe);
}

Test(dedupe, requests_of_dropped_entries_are_new_again)
{
    struct dedupe *dedupe = make();
    struct buffer image = BUFFER_INIT;
    record(dedupe, request_of(7, 1, 1), 1);
    dedupe_commit(dedupe, 1);
    dedupe_encode(dedupe, &image);
    record(dedupe, request_of(7, 2, 1), 2);
    record(dedupe, request_of(7, 3, 1), 3);
    record(dedupe, request_of(7, 4, 1), 3);
    record(dedupe, request_of(8, 1, 1), 4);
    cr_assert_eq(dedupe_load(dedupe, buffer_bytes(&image), NULL), STATUS_OK);
    dedupe_drop_above(dedupe, 2);
    cr_assert_eq(check(dedupe, request_of(7, 1, 1)), DEDUPE_DONE);
    cr_assert_eq(check(dedupe, request_of(7, 2, 1)), DEDUPE_PENDING);
    cr_assert_eq(check(dedupe, request_of(7, 3, 1)), DEDUPE_NEW);
    cr_assert_eq(check(dedupe, request_of(7, 4, 1)), DEDUPE_NEW);
    cr_assert_eq(check(dedupe, request_of(8, 1, 1)), DEDUPE_NEW);
    record(dedupe, request_of(7, 4, 1), 3); /* of whoever leads now, at the same sequence */
    dedupe_commit(dedupe, 3);
    cr_assert_eq(check(dedupe, request_of(7, 4, 1)), DEDUPE_DONE);
    cr_assert_eq(check(dedupe, request_of(7, 3, 1)), DEDUPE_NEW);
    buffer_deinit(&image);
    dedupe_destroy(dedupe);
}

/* The ring of touched rows: what fits comes out as it went in, the rest is counted; owners; threads. */
#include "tabletserver/storage/store/key_ring.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/memory.h"

static struct key_ring *ring;
static struct key_samples samples;
static int owner;

static void setup(void)
{
    cr_assert_eq(key_ring_create(&ring), STATUS_OK);
    key_ring_assign(ring, &owner);
}

static void teardown(void)
{
    key_ring_destroy(ring);
}

TestSuite(key_ring, .init = setup, .fini = teardown);

static void put(enum key_touch touch, const char *row, const char *end)
{
    key_ring_put(ring, &owner, touch, bytes_of_text(row), bytes_of_text(end));
}

Test(key_ring, gives_back_what_was_put_once)
{
    put(KEY_READ, "a", "");
    put(KEY_SCANNED, "from", "to");
    put(KEY_WRITTEN, "b", "");
    put(KEY_WRITTEN, "b", "");
    key_ring_drain(ring, &samples);
    cr_assert_eq(samples.count, 4);
    cr_assert(samples.offered[KEY_READ] == 1 && samples.offered[KEY_WRITTEN] == 2 &&
              samples.offered[KEY_SCANNED] == 1);
    cr_assert_eq(samples.samples[1].touch, KEY_SCANNED);
    cr_assert(bytes_equal(samples.samples[1].row, bytes_of_text("from")));
    cr_assert(bytes_equal(samples.samples[1].end, bytes_of_text("to")));
    cr_assert(bytes_equal(samples.samples[3].row, bytes_of_text("b")));
    cr_assert_eq(samples.samples[3].end.size_bytes, 0);
    key_ring_drain(ring, &samples);
    cr_assert(samples.count == 0 && samples.offered[KEY_WRITTEN] == 0);
}

Test(key_ring, counts_what_does_not_fit)
{
    static char row[LIMIT_ROW_KEY_BYTES + 2];
    memset(row, 'r', LIMIT_ROW_KEY_BYTES);
    for (int i = 0; i < 100; i++) {
        put(KEY_READ, row, "");
    }
    key_ring_drain(ring, &samples);
    cr_assert_eq(samples.count, KEY_RING_BYTES / (LIMIT_ROW_KEY_BYTES + 5));
    cr_assert_eq(samples.offered[KEY_READ], 100);
    cr_assert_eq(samples.samples[samples.count - 1].row.size_bytes, LIMIT_ROW_KEY_BYTES);
    row[LIMIT_ROW_KEY_BYTES] = 'r'; /* no key: it is not taken at all */
    put(KEY_READ, row, "");
    put(KEY_SCANNED, "a", row);
    for (int i = 0; i < 10000; i++) {
        put(KEY_WRITTEN, "b", "");
    }
    key_ring_drain(ring, &samples);
    cr_assert_eq(samples.count, KEY_RING_SAMPLES_MAX);
    cr_assert(samples.offered[KEY_READ] == 0 && samples.offered[KEY_WRITTEN] == 10000);
}

Test(key_ring, takes_only_its_owners)
{
    int other = 0;
    key_ring_put(ring, &other, KEY_READ, bytes_of_text("a"), BYTES_EMPTY);
    put(KEY_READ, "b", "");
    key_ring_assign(ring, &other);
    put(KEY_READ, "c", ""); /* a former one, who has not heard yet */
    key_ring_put(ring, &other, KEY_READ, bytes_of_text("d"), BYTES_EMPTY);
    key_ring_drain(ring, &samples);
    cr_assert_eq(samples.count, 1);
    cr_assert(bytes_equal(samples.samples[0].row, bytes_of_text("d")));
}

Test(key_ring, wants_about_one_in_every)
{
    for (uint32_t every = 1; every <= 256; every *= 4) {
        uint32_t wanted = 0;
        uint64_t first = 0;
        for (uint64_t i = 0; i < 65536; i++) {
            wanted += key_ring_wants(every, 1000000007 + i * 731) ? 1 : 0;
            first += key_ring_first(every, 1000000007 + i * 731);
        }
        cr_assert(wanted > 65536 / every * 8 / 10 && wanted < 65536 / every * 12 / 10 + 1, "%u: %u",
                  every, wanted);
        double mean = (double)first / 65536;
        cr_assert(mean > (every - 1) * 0.48 - 0.01 && mean < (every - 1) * 0.52 + 0.01, "%f", mean);
    }
}

static void *put_many(void *context)
{
    for (int i = 0; i < 20000; i++) {
        key_ring_put(ring, &owner, KEY_READ, bytes_of_text(context), BYTES_EMPTY);
    }
    return NULL;
}

/* Samples may be left out where two meet, and never come out torn. */
Test(key_ring, is_put_to_and_drained_by_many)
{
    char *const names[] = {"first", "another-one", "x"};
    pthread_t threads[3];
    uint64_t drained = 0;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, put_many, names[i]), 0);
    }
    for (int round = 0; round < 200; round++) {
        key_ring_drain(ring, &samples);
        for (uint32_t i = 0; i < samples.count; i++) {
            struct bytes row = samples.samples[i].row;
            cr_assert(bytes_equal(row, bytes_of_text(names[0])) ||
                      bytes_equal(row, bytes_of_text(names[1])) ||
                      bytes_equal(row, bytes_of_text(names[2])));
        }
        drained += samples.count;
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    key_ring_drain(ring, &samples);
    drained += samples.count;
    cr_assert(drained <=
              60000); /* none at all where a drain was interrupted for as long as all put */
    put(KEY_READ, "after", "");
    key_ring_drain(ring, &samples);
    cr_assert(samples.count == 1 && bytes_equal(samples.samples[0].row, bytes_of_text("after")));
}

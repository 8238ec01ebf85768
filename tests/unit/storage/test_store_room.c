/* When writes are refused for want of room, and when they are let in again: at the edges. */
#include <criterion/criterion.h>
#include <stdbool.h>

#include "common/base/prng.h"
#include "tabletserver/storage/store/store_room.h"

#define MIB (UINT64_C(1) << 20)

/* Low is 8 MiB (two transactions) and what is in memory and what the ballast lacks; high one
 * memtable more.  The log wants 3 MiB at low, 5 at high, and is 8 MiB at its largest. */
static struct store_settings settings_of_test(void)
{
    struct store_settings settings;
    store_settings_default(&settings);
    settings.memory_limit_bytes = 4 * MIB;
    settings.memtable_limit_bytes = 1 * MIB;
    settings.log_limit_bytes = 4 * MIB;
    settings.log_segment_bytes = 1 << 20;
    settings.flush_transaction_bytes = 4 * MIB;
    settings.ballast_bytes = 6 * MIB;
    return settings;
}

static struct store_room room_of_test(void)
{
    return (struct store_room){
        .base_file_bytes = 40 * MIB,
        .base_limit_bytes = 1024 * MIB,
        .log_file_bytes = 5 * MIB,
        .ballast_bytes = 6 * MIB,
    };
}

static enum store_room_verdict judge(const struct store_room *room)
{
    struct store_settings settings = settings_of_test();
    uint64_t wanted = UINT64_MAX;
    enum store_room_verdict verdict = store_room_judge(room, &settings, &wanted);
    cr_assert_eq(wanted == 0, verdict == STORE_ROOM_ENOUGH);
    return verdict;
}

/* One byte less of `member` than `at` is `below`; with it, `from`. */
#define EXPECT_EDGE(room, member, at, below, from)                                              \
    do {                                                                                        \
        struct store_room edge_room = (room);                                                   \
        for (int edge_i = 0; edge_i < 2; edge_i++) {                                            \
            edge_room.member = (at) - (edge_i == 0 ? 1 : 0);                                    \
            cr_assert_eq(judge(&edge_room), edge_i == 0 ? (below) : (from), "%s at %d KiB, %d", \
                         #member, (int)((at) / 1024), edge_i);                                  \
        }                                                                                       \
    } while (0)

Test(store_room, the_disk_pays_for_everything)
{
    struct store_room room = room_of_test();
    cr_assert_eq(judge(&room), STORE_ROOM_SHORT);
    EXPECT_EDGE(room, disk_free_bytes, 8 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, disk_free_bytes, 12 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    room.unflushed_bytes = 3 * MIB;
    EXPECT_EDGE(room, disk_free_bytes, 11 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, disk_free_bytes, 15 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    room.ballast_bytes = 0;
    EXPECT_EDGE(room, disk_free_bytes, 17 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, disk_free_bytes, 21 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
}

Test(store_room, freed_pages_pay_for_the_base_alone)
{
    struct store_room room = room_of_test();
    EXPECT_EDGE(room, base_reusable_bytes, 8 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, base_reusable_bytes, 12 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    /* Freed pages that are still to be turned over, or that a reader holds, are of no worth. */
    room.base_freed_bytes = 40 * MIB;
    cr_assert_eq(judge(&room), STORE_ROOM_SHORT);
    room.base_reusable_bytes = 40 * MIB;
    EXPECT_EDGE(room, log_file_bytes, 3 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, log_file_bytes, 5 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    room.log_file_bytes = 2 * MIB;
    EXPECT_EDGE(room, disk_free_bytes, 1 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, disk_free_bytes, 3 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
}

Test(store_room, segments_pay_for_the_log_alone)
{
    struct store_room room = room_of_test();
    room.log_file_bytes = 1024 * MIB;
    cr_assert_eq(judge(&room), STORE_ROOM_SHORT);
    EXPECT_EDGE(room, disk_free_bytes, 9 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
}

Test(store_room, a_full_map_is_as_a_full_disk)
{
    struct store_room room = room_of_test();
    room.disk_free_bytes = 1024 * MIB;
    room.base_limit_bytes = room.base_file_bytes;
    EXPECT_EDGE(room, base_reusable_bytes, 8 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, base_reusable_bytes, 9 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    EXPECT_EDGE(room, base_limit_bytes, 48 * MIB, STORE_ROOM_SHORT, STORE_ROOM_SOME);
    EXPECT_EDGE(room, base_limit_bytes, 49 * MIB, STORE_ROOM_SOME, STORE_ROOM_ENOUGH);
    room.base_limit_bytes = 0; /* a smaller map was set than the file is */
    cr_assert_eq(judge(&room), STORE_ROOM_SHORT);
}

Test(store_room, what_is_wanted_is_what_is_missing)
{
    struct store_settings settings = settings_of_test();
    struct prng prng = prng_of_seed(7);
    for (int i = 0; i < 20000; i++) {
        struct store_room room = room_of_test();
        uint64_t wanted = 0;
        room.disk_free_bytes = prng_below(&prng, 30 * MIB);
        room.base_reusable_bytes = prng_below(&prng, 30 * MIB);
        room.log_file_bytes = prng_below(&prng, 12 * MIB);
        room.log_peak_bytes = room.log_file_bytes + prng_below(&prng, 2 * MIB);
        room.ballast_bytes = prng_below(&prng, 7 * MIB);
        room.unflushed_bytes = prng_below(&prng, 5 * MIB);
        if (store_room_judge(&room, &settings, &wanted) != STORE_ROOM_ENOUGH) {
            room.disk_free_bytes += wanted - 1;
            cr_assert_neq(judge(&room), STORE_ROOM_ENOUGH);
            room.disk_free_bytes += 1;
            cr_assert_eq(judge(&room), STORE_ROOM_ENOUGH);
        }
        /* Making the ballast takes nothing away from anything else. */
        uint64_t ballast = store_room_ballast_bytes(&room, &settings);
        cr_assert_leq(ballast, settings.ballast_bytes);
        if (ballast > room.ballast_bytes) {
            room.disk_free_bytes -= ballast - room.ballast_bytes;
            room.ballast_bytes = ballast;
            cr_assert_eq(judge(&room), STORE_ROOM_ENOUGH);
        }
    }
}

/* Refused, then everything flushed and the log let go: that alone lets no write in. */
Test(store_room, flushing_alone_does_not_heal)
{
    struct store_settings settings = settings_of_test();
    struct prng prng = prng_of_seed(11);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        struct store_room room = room_of_test();
        uint64_t wanted = 0;
        room.disk_free_bytes = prng_below(&prng, 20 * MIB);
        room.base_reusable_bytes = prng_below(&prng, 10 * MIB);
        room.unflushed_bytes = prng_below(&prng, 5 * MIB);
        room.log_file_bytes = 4 * MIB + prng_below(&prng, 30 * MIB);
        if (store_room_judge(&room, &settings, &wanted) != STORE_ROOM_SHORT) {
            continue;
        }
        refused++;
        room.log_peak_bytes = room.log_file_bytes;
        uint64_t released = prng_below(&prng, room.log_file_bytes - 3 * MIB);
        room.log_file_bytes -= released;
        room.disk_free_bytes += released + room.ballast_bytes;
        room.ballast_bytes = 0;
        uint64_t reused = room.unflushed_bytes < room.base_reusable_bytes
                              ? room.unflushed_bytes
                              : room.base_reusable_bytes;
        uint64_t grown = room.unflushed_bytes - reused;
        if (grown > room.disk_free_bytes) {
            continue; /* not even that */
        }
        room.base_reusable_bytes -= reused;
        room.disk_free_bytes -= grown;
        room.base_file_bytes += grown;
        room.unflushed_bytes = 0;
        cr_assert_neq(judge(&room), STORE_ROOM_ENOUGH);
    }
    cr_assert_gt(refused, 1000);
}

/* As much as the largest memtable has, or a sixth of all; less as it gets there. */
Test(store_room, what_is_being_flushed_is_not_free_before)
{
    cr_assert_eq(store_room_due_bytes(0, 700, 6000), 700);
    cr_assert_eq(store_room_due_bytes(0, 1001, 6000), 1000);
    cr_assert_eq(store_room_due_bytes(999, 5000, 6000), 1);
    cr_assert_eq(store_room_due_bytes(1000, 5000, 6000), 0);
    cr_assert_eq(store_room_due_bytes(4000, 5000, 6000), 0);
}

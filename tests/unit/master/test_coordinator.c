#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/io/file.h"
#include "master/coordinator/catalog_moved.h"
#include "master/coordinator/coordinator.h"
#include "tests/support/test_folder.h"

static char folder[256];

static void make_folder(void)
{
    test_folder_make(folder, sizeof folder, "coordinator");
}

static void remove_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(coordinator, .init = make_folder, .fini = remove_folder);

static const struct coordinator_identity identity = {1, 42};

/* What a load says, as text. */
struct listing {
    char text[4096];
    size_t records;
};

static enum status list_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    struct listing *listing = context;
    char printable[BYTES_PRINTABLE_SIZE_MAX];
    (void)ret_error;
    listing->records++;
    strcat(listing->text, bytes_printable(key, printable));
    strcat(listing->text, "=");
    strcat(listing->text, bytes_printable(value, printable));
    strcat(listing->text, ";");
    return STATUS_OK;
}

static struct listing list(struct coordinator *coordinator)
{
    struct listing listing = {0};
    cr_assert_eq(coordinator_load(coordinator, list_record, &listing, NULL), STATUS_OK);
    return listing;
}

static struct coordinator *open_embedded(void)
{
    struct coordinator *coordinator = NULL;
    struct error error = {0};
    cr_assert_eq(coordinator_open_embedded(folder, &identity, &coordinator, &error), STATUS_OK,
                 "%s", error.text);
    return coordinator;
}

/* Both kinds, with the same commits, list the same. */
Test(coordinator, embedded_and_memory_agree_and_embedded_keeps)
{
    struct coordinator *embedded = open_embedded();
    struct coordinator *memory = NULL;
    struct prng prng = prng_of_seed(11);

    cr_assert_eq(coordinator_create_memory(&identity, &memory, NULL), STATUS_OK);
    cr_assert_eq(list(embedded).records, 2);
    for (int i = 0; i < 60; i++) {
        struct record_key keys[3];
        struct catalog_put puts[3];
        for (size_t j = 0; j < 3; j++) {
            keys[j] = record_key_of('P', 1 + prng_below(&prng, 12));
            puts[j] = (struct catalog_put){record_key_bytes(&keys[j]),
                                           bytes_of_text(i % 2 ? "x" : "y"), prng_chance(&prng, 3)};
        }
        cr_assert_eq(coordinator_commit(embedded, puts, 3, NULL), STATUS_OK);
        cr_assert_eq(coordinator_commit(memory, puts, 3, NULL), STATUS_OK);
        cr_assert_str_eq(list(embedded).text, list(memory).text);
        if (i % 20 == 7) {
            coordinator_close(embedded);
            embedded = open_embedded();
        }
    }
    coordinator_close(embedded);
    coordinator_close(memory);
}

Test(coordinator, another_clusters_catalog_is_refused_by_name)
{
    const struct coordinator_identity other = {2, 43};
    struct coordinator *coordinator = open_embedded();
    struct error error = {0};
    coordinator_close(coordinator);
    coordinator = NULL;
    cr_assert_eq(coordinator_open_embedded(folder, &other, &coordinator, &error),
                 STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "cluster 1"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, folder), "%s", error.text);
    cr_assert_null(coordinator);
}

Test(coordinator, a_lost_catalog_is_not_taken_for_a_new_cluster)
{
    struct coordinator *coordinator = NULL;
    struct error error = {.status = STATUS_OK};
    char path[300];

    coordinator_close(open_embedded());
    snprintf(path, sizeof path, "%s/catalog/data.mdb", folder);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(coordinator_open_embedded(folder, &identity, &coordinator, &error),
                 STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "CATALOG"), "%s", error.text);

    /* Who means it takes the marker away. */
    snprintf(path, sizeof path, "%s/catalog/CATALOG", folder);
    cr_assert_eq(unlink(path), 0);
    coordinator_close(open_embedded());
}

static unsigned mode_of_mark(void)
{
    char path[300];
    struct stat found = {0};
    snprintf(path, sizeof path, "%s/catalog/MOVED", folder);
    cr_assert_eq(stat(path, &found), 0);
    return found.st_mode & 0777;
}

Test(coordinator, a_catalog_that_was_moved_says_where_to_and_goes_nowhere_else)
{
    struct error error = {.status = STATUS_OK};
    coordinator_close(open_embedded());
    cr_assert_eq(catalog_moved_check(folder, &error), STATUS_OK);
    cr_assert_eq(catalog_moved_unmark(folder, &error), STATUS_OK, "no mark is fine");
    cr_assert_eq(catalog_moved_mark(folder, "/e/1 of http://a:1", &error), STATUS_OK);
    cr_assert_eq(error.status, STATUS_OK);
    cr_assert_eq(mode_of_mark(), 0644, "root has imported it, and another user is refused by it");
    cr_assert_eq(catalog_moved_check(folder, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "into etcd: /e/1 of http://a:1; set"), "%s", error.text);

    /* An import that was cut off is begun again; it is not begun elsewhere. */
    cr_assert_eq(catalog_moved_mark(folder, "/e/1 of http://a:1", &error), STATUS_OK);
    cr_assert_eq(catalog_moved_mark(folder, "/f/1 of http://a:1", &error),
                 STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "into etcd: /e/1 of http://a:1; set"), "%s", error.text);
    cr_assert_eq(catalog_moved_unmark(folder, &error), STATUS_OK);
    cr_assert_eq(catalog_moved_mark(folder, "/f/1 of http://a:1", &error), STATUS_OK);
}

/* Nothing of it has to be written: that there is no room is no reason not to serve what is there. */
Test(coordinator, a_catalog_is_opened_where_there_is_no_room_left)
{
    const struct file_fault full = {FILE_OPERATION_WRITE, 0, ENOSPC, true, false};
    struct coordinator *coordinator = NULL;
    struct error error = {.status = STATUS_OK};
    coordinator_close(open_embedded());
    file_fault_arm(&full);
    enum status status = coordinator_open_embedded(folder, &identity, &coordinator, &error);
    file_fault_disarm();
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    coordinator_close(coordinator);
}

/* It is the last that the master says before it ends: where a person is to look. */
Test(coordinator, a_disk_that_takes_no_write_is_named)
{
    static uint8_t bytes[1 << 17];
    struct coordinator *coordinator = open_embedded();
    struct record_key key = record_key_of(RECORD_KIND_TABLE, 7);
    const struct catalog_put put = {record_key_bytes(&key), bytes_of(bytes, sizeof bytes), false};
    const struct rlimit none = {1 << 14, 1 << 14};
    struct error error = {0};
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    cr_assert_eq(coordinator_commit(coordinator, &put, 1, &error), STATUS_IO);
    cr_assert_not_null(strstr(error.text, folder), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "catalog/data.mdb: input/output error; see whether"),
                       "%s", error.text);
    coordinator_close(coordinator);
}

Test(coordinator, a_newer_format_is_refused_by_name)
{
    struct coordinator *coordinator = open_embedded();
    const struct identity_record newer = {CATALOG_FORMAT + 1, 1, 42};
    struct record_key key = record_key_of(RECORD_KIND_IDENTITY, 0);
    struct buffer value = BUFFER_INIT;
    struct error error = {0};
    identity_record_encode(&newer, &value);
    const struct catalog_put put = {record_key_bytes(&key), buffer_bytes(&value), false};
    cr_assert_eq(coordinator_commit(coordinator, &put, 1, NULL), STATUS_OK);
    coordinator_close(coordinator);
    buffer_deinit(&value);
    cr_assert_eq(coordinator_open_embedded(folder, &identity, &coordinator, &error),
                 STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "format 2"), "%s", error.text);
}

Test(coordinator, memory_fails_when_told_and_stays_whole)
{
    struct coordinator *memory = NULL;
    cr_assert_eq(coordinator_create_memory(&identity, &memory, NULL), STATUS_OK);
    struct record_key key = record_key_of('P', 1);
    const struct catalog_put put = {record_key_bytes(&key), bytes_of_text("x"), false};
    coordinator_memory_fail(memory, 1, 1);
    cr_assert_eq(coordinator_commit(memory, &put, 1, NULL), STATUS_OK);
    cr_assert(coordinator_is_clean_failure(coordinator_commit(memory, &put, 1, NULL)));
    cr_assert_eq(coordinator_commit(memory, &put, 1, NULL), STATUS_OK);
    for (uint64_t after = 0; after < 8; after++) {
        struct listing before = list(memory);
        const struct catalog_put change = {record_key_bytes(&key), bytes_of_text("yy"), false};
        memory_fail_arm(after, 1);
        enum status status = coordinator_commit(memory, &change, 1, NULL);
        memory_fail_disarm();
        if (status == STATUS_OK) {
            break;
        }
        cr_assert_eq(status, STATUS_NO_MEMORY);
        cr_assert_str_eq(list(memory).text, before.text);
    }
    coordinator_close(memory);
}

/* --- records ---------------------------------------------------------------------------------- */

Test(record, a_flipped_bit_or_a_wrong_key_is_corrupt)
{
    const struct tablet_record record = {
        .number = 7,
        .changed_version = 3,
        .table = 2,
        .configuration = {1, 1, 0, {{1, 10}}},
        .goal = {.store_count = 1, .stores = {10}, .leader = 10},
        .state = TABLET_SERVING,
        .soft_limit_bytes = 1 << 24,
        .range = {bytes_of_text("a"), bytes_of_text("b")},
    };
    struct tablet_record back;
    struct buffer value = BUFFER_INIT;
    tablet_record_encode(&record, &value);
    cr_assert_eq(tablet_record_decode(7, buffer_bytes(&value), &back, NULL), STATUS_OK);
    cr_assert(bytes_equal(back.range.end, bytes_of_text("b")));
    cr_assert_eq(tablet_record_leader(&back).store, 10);
    cr_assert_eq(tablet_record_decode(8, buffer_bytes(&value), &back, NULL), STATUS_CORRUPT);
    for (size_t bit = 0; bit < value.size_bytes * 8; bit++) {
        value.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(tablet_record_decode(7, buffer_bytes(&value), &back, NULL), STATUS_CORRUPT);
        value.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < value.size_bytes; size++) {
        cr_assert_eq(tablet_record_decode(7, bytes_of(value.data, size), &back, NULL),
                     STATUS_CORRUPT);
    }
    buffer_deinit(&value);
}

/* A value as it is written: layout, fields, checksum by the key. */
static struct bytes close_value(uint8_t *value, size_t size_bytes, uint64_t tablet)
{
    struct record_key key = record_key_of(RECORD_KIND_TABLET, tablet);
    uint64_t seed = checksum64(key.data, key.size_bytes, 0);
    store_le32(value + size_bytes, checksum32(value, size_bytes, seed));
    return bytes_of(value, size_bytes + 4);
}

/* These bytes lie on disks: they must be read for ever. */
Test(record, a_tablet_of_layout_1_is_one_member_who_should_stay)
{
    uint8_t value[32] = {1 /* layout */,
                         3 /* changed */,
                         2 /* table */,
                         5 /* configuration */,
                         TABLET_SERVING,
                         TABLET_FLAG_START_BY_HAND,
                         4 /* server */,
                         40 /* store */,
                         6 /* parent */,
                         100 /* soft limit */,
                         1,
                         'a',
                         1,
                         'b'};
    struct tablet_record record;
    struct error error = {0};
    cr_assert_eq(tablet_record_decode(7, close_value(value, 14, 7), &record, &error), STATUS_OK,
                 "%s", error.text);
    cr_assert_eq(record.configuration.version, 5);
    cr_assert_eq(record.configuration.member_count, 1);
    cr_assert_eq(tablet_record_leader(&record).server, 4);
    cr_assert_eq(tablet_record_leader(&record).store, 40);
    cr_assert_eq(record.parent, 6);
    cr_assert_eq(record.absorbed, 0);
    cr_assert_eq(record.soft_limit_bytes, 100);
    cr_assert(bytes_equal(record.range.end, bytes_of_text("b")));
    cr_assert(tablet_record_is_at_goal(&record));
    value[0] = RECORD_LAYOUT_TABLET + 1;
    cr_assert_eq(tablet_record_decode(7, close_value(value, 14, 7), &record, &error),
                 STATUS_VERSION);
}

Test(record, a_tablet_of_layout_2_has_these_bytes_the_primary_first)
{
    const struct tablet_record record = {
        .number = 7,
        .changed_version = 3,
        .table = 2,
        .configuration = {5, 3, 1, {{1, 10}, {2, 20}, {3, 30}}},
        .state = TABLET_SERVING,
        .soft_limit_bytes = 100,
        .range = {bytes_of_text("a"), BYTES_EMPTY},
        .goal = {.store_count = 2,
                 .stores = {10, 40},
                 .leader = 40,
                 .wish = GOAL_SPLIT,
                 .by_hand = true,
                 .left = 8,
                 .right = 9,
                 .row = bytes_of_text("m")},
    };
    static const uint8_t expected[] = {2,   3,  2,   5,  TABLET_SERVING,
                                       0,   3,  2,   20, 1,
                                       10,  3,  30,  0,  0,
                                       100, 1,  'a', 0,  2,
                                       10,  40, 40,  1,  8,
                                       9,   1,  1,   'm'};
    struct tablet_record back;
    struct buffer value = BUFFER_INIT;
    tablet_record_encode(&record, &value);
    cr_assert_eq(value.size_bytes, sizeof expected + 4);
    cr_assert_arr_eq(value.data, expected, sizeof expected);
    cr_assert_eq(tablet_record_decode(7, buffer_bytes(&value), &back, NULL), STATUS_OK);
    cr_assert(replica_configuration_equal(&back.configuration, &record.configuration));
    cr_assert_eq(back.configuration.leader, 1);
    cr_assert_eq(back.goal.right, 9);
    cr_assert(back.goal.by_hand);
    cr_assert(bytes_equal(back.goal.row, record.goal.row));
    buffer_deinit(&value);
}

/* As it was written before it was written down whose wish it was: nobody takes it back but a person. */
Test(record, a_merge_of_before_was_ordered_by_hand)
{
    uint8_t value[32] = {2 /* layout */,
                         3 /* changed */,
                         2 /* table */,
                         5 /* configuration */,
                         TABLET_SERVING,
                         TABLET_FLAG_START_BY_HAND,
                         1 /* member */,
                         1,
                         10,
                         0 /* parents */,
                         0,
                         100 /* soft limit */,
                         1,
                         'a',
                         0,
                         1 /* goal */,
                         10,
                         0,
                         GOAL_MERGE,
                         7,
                         8,
                         9};
    struct tablet_record record;
    struct error error = {0};
    cr_assert_eq(tablet_record_decode(7, close_value(value, 22, 7), &record, &error), STATUS_OK,
                 "%s", error.text);
    cr_assert_eq(record.goal.merged, 9);
    cr_assert(record.goal.by_hand);
    cr_assert_eq(record.flags, TABLET_FLAG_START_BY_HAND);
    value[5] |= TABLET_FLAG_MERGE_BY_LOAD;
    cr_assert_eq(tablet_record_decode(7, close_value(value, 22, 7), &record, &error), STATUS_OK);
    cr_assert_not(record.goal.by_hand);
    cr_assert_eq(record.flags, TABLET_FLAG_START_BY_HAND);
}

Test(record, every_configuration_and_goal_comes_back_and_nonsense_does_not)
{
    struct prng prng = prng_of_seed(5);
    for (int i = 0; i < 20000; i++) {
        struct tablet_record record = {.number = 7,
                                       .changed_version = prng_below(&prng, 1000),
                                       .table = 1 + prng_below(&prng, 10),
                                       .state = TABLET_SERVING,
                                       .soft_limit_bytes = 1,
                                       .parent = prng_below(&prng, 6)};
        record.absorbed = record.parent == 0 ? 0 : prng_below(&prng, 6);
        record.configuration.version = 1 + prng_below(&prng, 1000);
        record.configuration.member_count = 1 + (uint32_t)prng_below(&prng, REPLICA_MEMBERS_MAX);
        record.configuration.leader = (uint32_t)prng_below(&prng,
                                                           record.configuration.member_count);
        for (uint32_t j = 0; j < record.configuration.member_count; j++) {
            record.configuration.members[j] = (struct replica_member){
                1 + 200 * j + prng_below(&prng, 200), 1 + prng_below(&prng, 30) * 8 + j};
        }
        record.goal.store_count = 1 + (uint32_t)prng_below(&prng, LIMIT_REPLICAS);
        for (uint32_t j = 0; j < record.goal.store_count; j++) {
            record.goal.stores[j] = 1 + 200 * j + prng_below(&prng, 200);
        }
        record.goal.leader = prng_chance(&prng, 2) ? 0 : record.goal.stores[0];
        if (prng_chance(&prng, 3)) {
            record.goal.wish = GOAL_MERGE;
            record.goal.by_hand = prng_chance(&prng, 2);
            record.goal.left = 7;
            record.goal.right = 8;
            record.goal.merged = 9;
        }
        struct buffer value = BUFFER_INIT;
        struct tablet_record back;
        tablet_record_encode(&record, &value);
        cr_assert_eq(tablet_record_decode(7, buffer_bytes(&value), &back, NULL), STATUS_OK);
        cr_assert(replica_configuration_equal(&back.configuration, &record.configuration));
        cr_assert_eq(back.goal.store_count, record.goal.store_count);
        cr_assert_arr_eq(back.goal.stores, record.goal.stores, sizeof record.goal.stores);
        cr_assert_eq(back.goal.merged, record.goal.merged);
        cr_assert_eq(back.goal.by_hand, record.goal.by_hand);
        cr_assert_eq(back.flags, 0);
        cr_assert_eq(back.absorbed, record.absorbed);
        /* what is changed under a good checksum is refused, or has a meaning */
        value.data[1 + prng_below(&prng, value.size_bytes - 5)] = (uint8_t)prng_next(&prng);
        struct bytes changed = close_value(value.data, value.size_bytes - 4, 7);
        if (tablet_record_decode(7, changed, &back, NULL) == STATUS_OK) {
            struct buffer again = BUFFER_INIT;
            tablet_record_encode(&back, &again); /* asserts that it means something */
            buffer_deinit(&again);
        }
        buffer_deinit(&value);
    }
}

Test(record, a_server_of_before_is_neither_drained_nor_replicates)
{
    const struct store_record stores[] = {{10, bytes_of_text("d")}};
    const struct server_record server = {
        .number = 7, .stores = stores, .store_count = 1, .draining = true, .replicates = true};
    struct server_record back;
    struct buffer value = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    server_record_encode(&server, &value);
    cr_assert_eq(server_record_decode(7, buffer_bytes(&value), &arena, &back, NULL), STATUS_OK);
    cr_assert(back.draining);
    cr_assert(back.replicates);
    struct record_key key = record_key_of(RECORD_KIND_SERVER, 7);
    size_t before = value.size_bytes - 5; /* without the flags */
    store_le32(value.data + before,
               checksum32(value.data, before, checksum64(key.data, key.size_bytes, 0)));
    cr_assert_eq(server_record_decode(7, bytes_of(value.data, before + 4), &arena, &back, NULL),
                 STATUS_OK);
    cr_assert(!back.draining);
    cr_assert(!back.replicates);
    arena_deinit(&arena);
    buffer_deinit(&value);
}

Test(record, unknown_keys_are_corrupt)
{
    char kind = '\0';
    uint64_t number = 0;
    struct error error = {0};
    cr_assert_eq(record_key_decode(bytes_of_text("Q"), &kind, &number, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "'Q'"));
    cr_assert_eq(record_key_decode(bytes_of_text("P123"), &kind, &number, &error), STATUS_CORRUPT);
    cr_assert_eq(record_key_decode(BYTES_EMPTY, &kind, &number, &error), STATUS_CORRUPT);
}

/* What a key-value store holds: every test of contents runs on both implementations. */
#include "tests/support/kv_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"

static void check_snapshots(bool in_memory)
{
    struct place place = open_place(in_memory);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    put(write, "b", "2");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    struct kv_read *before = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &before), STATUS_OK);
    write = begin(place.kv);
    put(write, "a", "changed");
    bool found = false;
    cr_assert_eq(kv_write_delete(write, bytes_of_text("b"), &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("none"), &found), STATUS_OK);
    cr_assert_not(found);
    struct bytes value;
    cr_assert_eq(kv_write_get(write, bytes_of_text("a"), &value, &found), STATUS_OK);
    cr_assert(bytes_equal(value, bytes_of_text("changed")), "a writer sees its own puts");
    cr_assert(is_there(place.kv, "a", "1"), "nobody else does");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    cr_assert(is_there(place.kv, "a", "changed"));
    cr_assert_not(is_there(place.kv, "b", "2"));
    cr_assert_eq(kv_read_get(before, bytes_of_text("b"), &value, &found), STATUS_OK);
    cr_assert(found && bytes_equal(value, bytes_of_text("2")), "a snapshot does not change");
    kv_read_end(before);

    write = begin(place.kv);
    put(write, "a", "aborted");
    kv_write_abort(write);
    cr_assert(is_there(place.kv, "a", "changed"));
    close_place(&place);
}

static uint64_t version_now(struct kv *kv)
{
    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(kv, &read), STATUS_OK);
    uint64_t version = kv_read_version(read);
    kv_read_end(read);
    return version;
}

/* A commit makes another version; aborting and reading do not, and a snapshot stays at its own. */
static void check_versions(bool in_memory)
{
    struct place place = open_place(in_memory);
    uint64_t first = version_now(place.kv);
    cr_assert_neq(first, 0);
    cr_assert_eq(version_now(place.kv), first);

    struct kv_read *before = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &before), STATUS_OK);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(version_now(place.kv), first, "not committed yet");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    uint64_t second = version_now(place.kv);
    cr_assert_neq(second, first);
    cr_assert_eq(kv_read_version(before), first);
    kv_read_end(before);

    write = begin(place.kv);
    put(write, "a", "2");
    kv_write_abort(write);
    cr_assert_eq(version_now(place.kv), second);
    close_place(&place);
}

Test(kv, versions_in_memory)
{
    check_versions(true);
}

Test(kv, versions_on_lmdb)
{
    check_versions(false);
}

Test(kv, snapshots_and_aborts_in_memory)
{
    check_snapshots(true);
}

Test(kv, snapshots_and_aborts_on_lmdb)
{
    check_snapshots(false);
}

static char moved(struct kv_cursor *cursor, enum kv_move move, const char *key)
{
    struct bytes got_key;
    struct bytes got_value;
    bool found = false;
    cr_assert_eq(kv_cursor_move(cursor, move, bytes_of_text(key), &got_key, &got_value, &found),
                 STATUS_OK);
    return found ? (char)got_key.data[0] : '-';
}

static void check_cursor(bool in_memory)
{
    struct place place = open_place(in_memory);
    struct kv_cursor *cursor = NULL;
    struct kv_write *write = begin(place.kv);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(moved(cursor, KV_SEEK, "a"), '-', "nothing in an empty file");
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), '-');
    kv_cursor_close(cursor);
    put(write, "b", "");
    put(write, "d", "");
    put(write, "f", "");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(moved(cursor, KV_SEEK, "a"), 'b');
    cr_assert_eq(moved(cursor, KV_SEEK, "d"), 'd');
    cr_assert_eq(moved(cursor, KV_SEEK, "c"), 'd');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'b');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), '-', "before the first it stands past the end");
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'f');
    cr_assert_eq(moved(cursor, KV_NEXT, ""), '-');
    cr_assert_eq(moved(cursor, KV_NEXT, ""), '-');
    cr_assert_eq(moved(cursor, KV_SEEK, "g"), '-');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'f');
    cr_assert_eq(moved(cursor, KV_LAST, ""), 'f');
    kv_cursor_close(cursor);
    kv_read_end(read);

    /* Cursors of the next snapshots, which may have been used before, see what these see. */
    for (char key = 'g'; key < 'j'; key++) {
        struct kv_cursor *cursors[4];
        write = begin(place.kv);
        put(write, (char[]){key, '\0'}, "");
        cr_assert_eq(kv_write_commit(write), STATUS_OK);
        cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(kv_cursor_open_read(read, &cursors[i]), STATUS_OK);
            cr_assert_eq(moved(cursors[i], KV_NEXT, ""), '-', "it stands past the end");
            cr_assert_eq(moved(cursors[i], KV_SEEK, "g"), 'g');
        }
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(moved(cursors[i], KV_LAST, ""), key);
            kv_cursor_close(cursors[i]);
        }
        kv_read_end(read);
    }
    close_place(&place);
}

Test(kv, cursor_moves_in_memory)
{
    check_cursor(true);
}

Test(kv, cursor_moves_on_lmdb)
{
    check_cursor(false);
}

/* Both implementations, side by side, must never differ. */
Test(kv, the_two_agree)
{
    struct place places[2] = {open_place(true), open_place(false)};
    struct prng prng = prng_of_seed(11);
    for (int round = 0; round < 60; round++) {
        struct kv_write *writes[2] = {begin(places[0].kv), begin(places[1].kv)};
        for (int i = 0; i < 100; i++) {
            uint8_t key[KV_KEY_BYTES_MAX] = {0};
            uint8_t value[KV_KEY_BYTES_MAX] = {(uint8_t)i};
            size_t size = prng_chance(&prng, 10) ? sizeof key : 1 + prng_below(&prng, 2);
            key[0] = (uint8_t)prng_below(&prng, 256);
            key[size - 1] = (uint8_t)prng_below(&prng, 4);
            bool remove = prng_chance(&prng, 3);
            bool found[2] = {false, false};
            for (int p = 0; p < 2; p++) {
                struct bytes k = bytes_of(key, size);
                cr_assert_eq(remove ? kv_write_delete(writes[p], k, &found[p])
                                    : kv_write_put(writes[p], k, bytes_of(value, size)),
                             STATUS_OK);
            }
            cr_assert_eq(found[0], found[1]);
        }
        bool keep = !prng_chance(&prng, 4);
        struct kv_read *reads[2];
        struct kv_cursor *cursors[2];
        for (int p = 0; p < 2; p++) {
            if (keep) {
                cr_assert_eq(kv_write_commit(writes[p]), STATUS_OK);
            } else {
                kv_write_abort(writes[p]);
            }
            cr_assert_eq(kv_read_begin(places[p].kv, &reads[p]), STATUS_OK);
            cr_assert_eq(kv_cursor_open_read(reads[p], &cursors[p]), STATUS_OK);
        }
        for (int i = 0; i < 400; i++) {
            uint8_t seek[2] = {(uint8_t)prng_below(&prng, 256), (uint8_t)prng_below(&prng, 4)};
            enum kv_move move = i == 0 ? KV_SEEK : (enum kv_move)prng_below(&prng, 4);
            struct bytes keys[2] = {BYTES_EMPTY, BYTES_EMPTY};
            struct bytes values[2] = {BYTES_EMPTY, BYTES_EMPTY};
            bool found[2] = {false, false};
            for (int p = 0; p < 2; p++) {
                cr_assert_eq(kv_cursor_move(cursors[p], move, bytes_of(seek, 2), &keys[p],
                                            &values[p], &found[p]),
                             STATUS_OK);
            }
            cr_assert_eq(found[0], found[1]);
            cr_assert(bytes_equal(keys[0], keys[1]));
            cr_assert(bytes_equal(values[0], values[1]));
        }
        for (int p = 0; p < 2; p++) {
            kv_cursor_close(cursors[p]);
            kv_read_end(reads[p]);
        }
    }
    close_place(&places[0]);
    close_place(&places[1]);
}

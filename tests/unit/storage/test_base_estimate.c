/* How much is stored, its half, and rows that cut it: near enough, in little time. */
#include "tests/support/base_fixture.h"

/* --- estimates -------------------------------------------------------------------------------- */

static void check_estimate(struct fixture *fixture, int rows, int tolerance_percent)
{
    uint64_t chunk_bytes = 0;
    uint64_t piece_bytes = 0;
    uint64_t estimate = 0;
    struct buffer row = BUFFER_INIT;
    bool found = false;
    count_records(fixture, 2, &chunk_bytes);
    count_records(fixture, 6, &piece_bytes);
    double stored = (double)(chunk_bytes + piece_bytes);
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    cr_assert_eq(base_estimate_bytes(snapshot, &WHOLE, 1, &estimate), STATUS_OK);
    cr_assert_leq((double)estimate, stored * (100 + tolerance_percent) / 100);
    cr_assert_geq((double)estimate, stored * (100 - tolerance_percent) / 100);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert(found);
    buffer_append_u8(&row, 0);
    int middle = atoi((const char *)row.data + 1);
    cr_assert_geq(middle, rows * (50 - tolerance_percent) / 100, "%d of %d", middle, rows);
    cr_assert_leq(middle, rows * (50 + tolerance_percent) / 100 + 1, "%d of %d", middle, rows);
    buffer_deinit(&row);
    base_snapshot_end(snapshot);
}

/* Rows of like weight: a row's number over their count is the share that lies before it. */
static void check_samples(struct fixture *fixture, int rows, uint32_t count_max, double tolerance)
{
    struct base_row_sample taken[32];
    struct base_row_samples samples = {.samples = taken, .count_max = count_max};
    struct arena arena;
    uint64_t total = 0;
    double last = 0;
    arena_init(&arena, 4096, SIZE_MAX);
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    cr_assert_eq(base_estimate_bytes(snapshot, &WHOLE, 1, &total), STATUS_OK);
    cr_assert_eq(base_sample_rows(snapshot, &WHOLE, 1, total / 10, &arena, &samples), STATUS_OK);
    cr_assert_eq(samples.total_bytes, total);
    uint32_t expected = count_max < 10 ? count_max - 1 : 9;
    cr_assert(samples.count >= expected && samples.count <= expected + 1, "%u", samples.count);
    for (uint32_t i = 0; i < samples.count; i++) {
        char row[16] = "";
        cr_assert_lt(taken[i].row.size_bytes, sizeof row);
        memcpy(row, taken[i].row.data, taken[i].row.size_bytes);
        double share = atoi(row + 1) / (double)rows;
        double offset = (double)taken[i].offset_bytes / (double)total;
        cr_assert_lt(last, offset);
        cr_assert_lt(taken[i].offset_bytes, total);
        cr_assert(share > offset - tolerance && share < offset + tolerance, "%f %f", share, offset);
        cr_assert(i == 0 || bytes_compare(taken[i - 1].row, taken[i].row) < 0);
        last = offset;
    }
    base_snapshot_end(snapshot);
    arena_deinit(&arena);
}

Test(base_store, estimates_are_exact_when_small_and_near_when_large)
{
    struct fixture fixture = fixture_open();
    char row[16];
    begin(&fixture);
    for (int i = 0; i < 40000; i++) {
        snprintf(row, sizeof row, "r%06d", i);
        put_sized(&fixture, row, "q", i % 50 == 0 ? 20000 : 300);
        if (i == 1000) {
            commit(&fixture);
            check_estimate(&fixture, 1001, 1);
            check_samples(&fixture, 1001, 32, 0.04);
            begin(&fixture);
        }
    }
    commit(&fixture);
    check_estimate(&fixture, 40000, 20);
    check_samples(&fixture, 40000, 32, 0.1);
    check_samples(&fixture, 40000, 4, 0.1);
    fixture_close(&fixture);
}

Test(base_store, the_middle_lies_behind_the_first_row_or_is_not_found)
{
    struct fixture fixture = fixture_open();
    struct buffer row = BUFFER_INIT;
    bool found = true;
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert_not(found, "an empty tablet has no middle");
    base_snapshot_end(snapshot);
    begin(&fixture);
    put_sized(&fixture, "a", "q", 500000);
    commit(&fixture);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert_not(found, "nor has one row");
    base_snapshot_end(snapshot);
    begin(&fixture);
    put_sized(&fixture, "b", "q", 5);
    put_sized(&fixture, "c", "q", 5);
    commit(&fixture);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(buffer_bytes(&row), bytes_of_text("b")));
    base_snapshot_end(snapshot);
    buffer_deinit(&row);
    fixture_close(&fixture);
}

/*
 * Every limit of the data model, through libedubba against real processes, for test_limits.sh:
 *
 *   limits_client TABLE
 *
 * TABLE has the families f (plain), sum (intsum) and seen (inthll), millisecond timestamps, and a
 * row "keep".  What is at a limit is taken and read back; what is over it is refused with the text
 * that names it, has changed nothing, and the server goes on.  Ends with "N passed, N failed".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edubba.h"

#define MIB              ((size_t)1 << 20)
#define VALUE_BYTES      (100 * MIB)
#define MUTATIONS_MAX    100000
#define FILTER_BYTES_MAX 20480
#define TEXT_OF_DEPTH    "nested deeper than 20"
#define TEXT_OF_SIZE     "Row filter exceeds maximum size of 20480 bytes"

static struct edubba_table *table;
static struct edubba_error error;

#define ERROR_NAME edubba_code_name(error.code)
#include "limits_check.h"

static struct edubba_bytes text(const char *from)
{
    return edubba_bytes_of(from, strlen(from));
}

static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("limits_client: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Size bytes that are not all the same. */
static char *make_bytes(size_t size)
{
    char *bytes = need(malloc(size));
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)('a' + i % 23 + (i >> 20) % 3);
    }
    return bytes;
}

/* The row has nothing, and the server answers for another one. */
static bool is_untouched(const char *row)
{
    struct edubba_error seen;
    struct edubba_row *found = NULL;
    struct edubba_row *kept = NULL;
    bool good = edubba_read_row(table, text(row), NULL, &found, &seen) == EDUBBA_OK &&
                found == NULL &&
                edubba_read_row(table, text("keep"), NULL, &kept, &seen) == EDUBBA_OK &&
                kept != NULL && kept->cell_count == 1;
    edubba_row_free(found);
    edubba_row_free(kept);
    return good;
}

static void refused(const char *what,
                    enum edubba_code code,
                    enum edubba_code wanted,
                    const char *part)
{
    check(what, code == wanted && strstr(error.text, part) != NULL);
    check(what, is_untouched("bad"));
}

/* These mutations of row "bad" are refused. */
static void refuse_mutations(const char *what,
                             const struct edubba_mutation *mutations,
                             size_t count,
                             const char *part)
{
    enum edubba_code code = edubba_mutate_row(table, text("bad"), mutations, count, &error);
    refused(what, code, EDUBBA_INVALID_ARGUMENT, part);
}

/* A cell that would pass, then one that must not: neither stays. */
static void refuse_mutation(const char *what, struct edubba_mutation mutation, const char *part)
{
    struct edubba_mutation mutations[] = {
        edubba_set_cell("f", text("good"), 0, text("1")),
        mutation,
    };
    refuse_mutations(what, mutations, 2, part);
}

/* --- values ------------------------------------------------------------------------------------- */

static void check_values(void)
{
    char *value = make_bytes(VALUE_BYTES + 1);
    struct edubba_mutation set = edubba_set_cell("f", text("v"), 1000,
                                                 edubba_bytes_of(value, VALUE_BYTES));
    struct edubba_row *row = NULL;

    check("a value of 100 MiB is taken",
          edubba_mutate_row(table, text("large"), &set, 1, &error) == EDUBBA_OK);
    check("and read",
          edubba_read_row(table, text("large"), NULL, &row, &error) == EDUBBA_OK && row != NULL);
    check("as it was", row != NULL && row->cell_count == 1 &&
                           row->cells[0].value.size == VALUE_BYTES &&
                           memcmp(row->cells[0].value.data, value, VALUE_BYTES) == 0);
    edubba_row_free(row);
    set = edubba_delete_from_row();
    check("and deleted", edubba_mutate_row(table, text("large"), &set, 1, &error) == EDUBBA_OK);

    refuse_mutation("a value of a byte more",
                    edubba_set_cell("f", text("v"), 1000, edubba_bytes_of(value, VALUE_BYTES + 1)),
                    "104857601 bytes, the limit is 104857600");
    free(value);
}

/* --- rows --------------------------------------------------------------------------------------- */

#define LARGE_COLUMNS 3

static const char *const large_columns[LARGE_COLUMNS] = {"a", "b", "c"};

/* A byte to each column: the cells that come of it fit no message. */
static enum edubba_code append_to_large_row(void)
{
    struct edubba_rmw_rule rules[LARGE_COLUMNS];
    struct edubba_row *row = NULL;
    for (size_t i = 0; i < LARGE_COLUMNS; i++) {
        rules[i] = (struct edubba_rmw_rule){.kind = EDUBBA_APPEND,
                                            .family = text("f"),
                                            .qualifier = text(large_columns[i]),
                                            .append = text("+")};
    }
    return edubba_read_modify_write_row(table, text("large-row"), rules, LARGE_COLUMNS, &row,
                                        &error);
}

static void check_large_row(void)
{
    const size_t cell_bytes = 90 * MIB;
    char *value = make_bytes(cell_bytes);
    const struct edubba_row *seen = NULL;
    struct edubba_row *row = NULL;
    struct edubba_scan *scan = NULL;
    struct edubba_bytes failed = EDUBBA_NOTHING;

    for (size_t i = 0; i < LARGE_COLUMNS; i++) {
        struct edubba_mutation set = edubba_set_cell("f", text(large_columns[i]), 1000,
                                                     edubba_bytes_of(value, cell_bytes));
        check("a cell of 90 MiB",
              edubba_mutate_row(table, text("large-row"), &set, 1, &error) == EDUBBA_OK);
    }
    free(value);

    enum edubba_code code = edubba_read_row(table, text("large-row"), NULL, &row, &error);
    refused("a row of 270 MiB", code, EDUBBA_FAILED_PRECONDITION, "LargeRowReadError");
    check("is named", strstr(error.text, "large-row") != NULL);

    struct edubba_scan_options options = {0};
    check("scan", edubba_scan_open(table, &options, &scan, &error) == EDUBBA_OK);
    check("a scan gives what is before it", edubba_scan_next(scan, &seen, &error) == EDUBBA_OK &&
                                                seen != NULL && seen->key.size == 4 &&
                                                memcmp(seen->key.data, "keep", 4) == 0);
    code = edubba_scan_next(scan, &seen, &error);
    refused("and then says so too", code, EDUBBA_FAILED_PRECONDITION, "LargeRowReadError");
    check("naming it", strstr(error.text, "large-row") != NULL);
    check("whole", edubba_scan_failed_row(scan, &failed) && failed.size == 9 &&
                       memcmp(failed.data, "large-row", 9) == 0);
    edubba_scan_close(scan);

    struct edubba_filter *first = edubba_filter_cells_per_row_limit(1);
    code = edubba_read_row(table, text("large-row"), first, &row, &error);
    check("a filter reads of it", code == EDUBBA_OK && row != NULL && row->cell_count == 1 &&
                                      row->cells[0].timestamp_us == 1000 &&
                                      row->cells[0].value.size == cell_bytes);
    edubba_row_free(row);
    edubba_filter_free(first);
    check("all of it cannot be changed at once",
          append_to_large_row() == EDUBBA_INVALID_ARGUMENT &&
              strstr(error.text, "more than 256 MiB together") != NULL);

    struct edubba_mutation gone = edubba_delete_from_row();
    check("it can be deleted",
          edubba_mutate_row(table, text("large-row"), &gone, 1, &error) == EDUBBA_OK &&
              is_untouched("large-row"));
}

/* --- mutations ---------------------------------------------------------------------------------- */

static void check_mutations(void)
{
    struct edubba_mutation *mutations = need(calloc(MUTATIONS_MAX + 1, sizeof *mutations));
    struct edubba_error errors[2];
    struct edubba_row *row = NULL;
    bool matched = false;

    for (size_t i = 0; i <= MUTATIONS_MAX; i++) {
        mutations[i] = edubba_set_cell("f", text("v"), (int64_t)(i + 1) * 1000, text("x"));
    }
    refuse_mutations("100 001 mutations", mutations, MUTATIONS_MAX + 1,
                     "100001 mutations in one request, the limit is 100000");
    const struct edubba_entry entries[] = {
        {text("bad"), mutations, 60000},
        {text("bad2"), mutations, 40001},
    };
    enum edubba_code code = edubba_mutate_rows(table, entries, 2, errors);
    error = errors[1];
    refused("100 001 mutations of two rows", code, EDUBBA_INVALID_ARGUMENT, "the limit is 100000");
    check("neither row is there", is_untouched("bad2"));
    code = edubba_check_and_mutate_row(table, text("bad"), NULL, mutations, 1, mutations,
                                       MUTATIONS_MAX + 1, &matched, &error);
    refused("100 001 mutations in a branch", code, EDUBBA_INVALID_ARGUMENT, "the limit is 100000");
    code = edubba_check_and_mutate_row(table, text("both"), NULL, mutations, MUTATIONS_MAX,
                                       mutations, MUTATIONS_MAX, &matched, &error);
    check("100 000 in each are taken", code == EDUBBA_OK);
    struct edubba_mutation forget = edubba_delete_from_row();
    check("and go again", edubba_mutate_row(table, text("both"), &forget, 1, &error) == EDUBBA_OK);

    check("100 000 are taken",
          edubba_mutate_row(table, text("many"), mutations, MUTATIONS_MAX, &error) == EDUBBA_OK);
    check("and all there", edubba_read_row(table, text("many"), NULL, &row, &error) == EDUBBA_OK &&
                               row != NULL && row->cell_count == MUTATIONS_MAX);
    edubba_row_free(row);
    mutations[0] = edubba_delete_from_row();
    check("and deleted", edubba_mutate_row(table, text("many"), mutations, 1, &error) == EDUBBA_OK);
    free(mutations);
}

/* --- filters ------------------------------------------------------------------------------------ */

/* chain(pass, chain(pass, ... pass)) with so many levels, the innermost pass included. */
static struct edubba_filter *make_nested(int levels)
{
    struct edubba_filter *filter = edubba_filter_pass_all();
    for (int i = 1; i < levels; i++) {
        struct edubba_filter *members[] = {edubba_filter_pass_all(), filter};
        filter = edubba_filter_chain(members, 2);
    }
    return need(filter);
}

static struct edubba_filter *make_pattern(size_t size)
{
    char *pattern = need(malloc(size));
    memset(pattern, 'x', size);
    struct edubba_filter *filter = edubba_filter_value_regex(edubba_bytes_of(pattern, size));
    free(pattern);
    return need(filter);
}

/* By each way in: a read, a scan, a predicate. */
static void refuse_filter(const char *what, struct edubba_filter *filter, const char *part)
{
    struct edubba_mutation set = edubba_set_cell("f", text("v"), 0, text("1"));
    const struct edubba_scan_options options = {.filter = filter};
    const struct edubba_row *seen = NULL;
    struct edubba_row *row = NULL;
    struct edubba_scan *scan = NULL;
    bool matched = false;

    enum edubba_code code = edubba_read_row(table, text("keep"), filter, &row, &error);
    refused(what, code, EDUBBA_INVALID_ARGUMENT, part);
    code = edubba_check_and_mutate_row(table, text("bad"), filter, &set, 1, &set, 1, &matched,
                                       &error);
    refused(what, code, EDUBBA_INVALID_ARGUMENT, part);
    code = edubba_scan_open(table, &options, &scan, &error);
    if (code == EDUBBA_OK) {
        code = edubba_scan_next(scan, &seen, &error);
    }
    refused(what, code, EDUBBA_INVALID_ARGUMENT, part);
    edubba_scan_close(scan);
    edubba_filter_free(filter);
}

static void take_filter(const char *what, struct edubba_filter *filter)
{
    struct edubba_row *row = NULL;
    check(what, edubba_read_row(table, text("keep"), filter, &row, &error) == EDUBBA_OK);
    edubba_row_free(row);
    edubba_filter_free(filter);
}

static void check_filters(void)
{
    take_filter("a filter of nearly 20 KB", make_pattern(FILTER_BYTES_MAX - 8));
    refuse_filter("a filter of over 20 KB", make_pattern(FILTER_BYTES_MAX + 1), TEXT_OF_SIZE);
    refuse_filter("a filter of 1 MB", make_pattern(MIB), TEXT_OF_SIZE);
    take_filter("a filter of 20 levels", make_nested(20));
    refuse_filter("a filter of 21 levels", make_nested(21), TEXT_OF_DEPTH);
    refuse_filter("a filter of 1 000 levels", make_nested(1000), TEXT_OF_DEPTH);
}

/* --- aggregates, timestamps, keys --------------------------------------------------------------- */

static void check_inputs(void)
{
    struct edubba_mutation merge_integer = edubba_add_int64("sum", text("c"), 0, 1);
    merge_integer.kind = EDUBBA_MERGE_TO_CELL;

    refuse_mutation("SetCell on an aggregate", edubba_set_cell("sum", text("c"), 0, text("1")),
                    "Column family type mismatch");
    refuse_mutation("AddToCell on a plain family", edubba_add_int64("f", text("c"), 0, 1),
                    "Column family type mismatch");
    refuse_mutation("bytes added to a sum", edubba_add_bytes("sum", text("c"), 0, text("1")),
                    "must use `int_value`");
    refuse_mutation("a number merged", merge_integer, "must use `bytes_value`");
    refuse_mutation("a state of 7 bytes merged into a sum",
                    edubba_merge_state("sum", text("c"), 0, text("7 bytes")),
                    "Column family type mismatch");
    refuse_mutation("a state that is no sketch",
                    edubba_merge_state("seen", text("c"), 0, text("no sketch")),
                    "Column family type mismatch");
    refuse_mutation("a timestamp out of granularity",
                    edubba_set_cell("f", text("c"), 1001, text("1")),
                    "Expected a multiple of 1000 (millisecond granularity), but got 1001");
    refuse_mutation("one of an aggregate", edubba_add_int64("sum", text("c"), 1001, 1), "1001");
    refuse_mutation("one of a range", edubba_delete_from_column("f", text("c"), 1001, 0), "1001");
    refuse_mutation("a negative timestamp", edubba_set_cell("f", text("c"), -2, text("1")),
                    "must not be negative, but got -2");

    struct edubba_mutation unknown = edubba_set_cell("none", text("c"), 0, text("1"));
    enum edubba_code code = edubba_mutate_row(table, text("bad"), &unknown, 1, &error);
    refused("an unknown family", code, EDUBBA_NOT_FOUND,
            "Requested column family not found: 'none'");
}

static void check_keys(void)
{
    char *key = make_bytes(4097);
    struct edubba_mutation set = edubba_set_cell("f", text("v"), 0, text("1"));
    struct edubba_row *row = NULL;

    enum edubba_code code = edubba_mutate_row(table, text(""), &set, 1, &error);
    refused("an empty key", code, EDUBBA_INVALID_ARGUMENT, "Row keys must be non-empty");
    code = edubba_mutate_row(table, edubba_bytes_of(key, 4097), &set, 1, &error);
    refused("a key of 4 097 bytes", code, EDUBBA_INVALID_ARGUMENT, "4097 bytes, the limit is 4096");
    code = edubba_read_row(table, edubba_bytes_of(key, 4097), NULL, &row, &error);
    refused("one to be read", code, EDUBBA_INVALID_ARGUMENT, "4097 bytes, the limit is 4096");
    free(key);
}

int main(int count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client = NULL;

    if (count != 2) {
        fputs("usage: limits_client TABLE\n", stderr);
        return 2;
    }
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[1], &table, &error) != EDUBBA_OK) {
        fprintf(stderr, "limits_client: %s\n", error.text);
        return 1;
    }
    check_keys();
    check_inputs();
    check_filters();
    check_mutations();
    check_values();
    check_large_row();
    edubba_table_close(table);
    edubba_client_close(client);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

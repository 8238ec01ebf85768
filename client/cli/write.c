#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"

/* A list of mutations that grows with the command line. */
struct mutations {
    struct edubba_mutation *items;
    size_t count;
};

static bool mutations_make_room(struct mutations *mutations, int count)
{
    mutations->items = calloc((size_t)count + 1, sizeof *mutations->items);
    return mutations->items != NULL;
}

static int64_t now_to_the_millisecond_us(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000000 * 1000;
}

static bool add_set(struct mutations *mutations, char *word)
{
    struct word_cell cell;
    if (!word_cell_parse(word, &cell)) {
        return false;
    }
    mutations->items[mutations->count++] = edubba_set_cell(
        cell.family, EDUBBA_TEXT(cell.column), cell.has_timestamp ? cell.timestamp_us : EDUBBA_NOW,
        edubba_bytes_of(cell.value, cell.value_bytes));
    return true;
}

static int write_row(struct session *session, const struct mutations *mutations)
{
    struct edubba_bytes row;
    struct edubba_error error;
    int exit_code = session_row(session, &row);
    if (exit_code >= 0) {
        return exit_code;
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code code = edubba_mutate_row(table, row, mutations->items, mutations->count,
                                              &error);
    edubba_table_close(table);
    if (code == EDUBBA_OK) {
        return session_done(session);
    }
    return session_fail(session, &error);
}

int run_set(struct session *session)
{
    struct mutations mutations = {0};
    if (!mutations_make_room(&mutations, session->argument_count)) {
        return EXIT_CODE_FAILED;
    }
    int code = -1;
    for (int i = 2; i < session->argument_count && code < 0; i++) {
        if (!add_set(&mutations, session->arguments[i])) {
            code = session_misuse(session, "'%s' is not FAMILY:COLUMN=VALUE[@TIMESTAMP]",
                                  session->arguments[i]);
        }
    }
    if (code < 0) {
        code = write_row(session, &mutations);
    }
    free(mutations.items);
    return code;
}

/* A number for the integer kinds; whatever it is for a family of byte sketches.  Returns the exit
 * code, or -1 to go on. */
static int add_add(struct session *session,
                   struct mutations *mutations,
                   char *word,
                   const struct edubba_schema *schema)
{
    struct word_cell cell;
    int64_t number = 0;
    bool bytes = false;

    if (!word_cell_parse(word, &cell)) {
        return session_misuse(session, "'%s' is not FAMILY:COLUMN=NUMBER[@TIMESTAMP]", word);
    }
    for (size_t i = 0; i < schema->family_count; i++) {
        bytes = bytes || (strcmp(schema->families[i].name, cell.family) == 0 &&
                          schema->families[i].aggregate == EDUBBA_BYTESHLL);
    }
    bool is_now = !cell.has_timestamp || cell.timestamp_us == EDUBBA_NOW;
    int64_t timestamp_us = is_now ? now_to_the_millisecond_us() : cell.timestamp_us;
    struct edubba_bytes column = EDUBBA_TEXT(cell.column);
    if (bytes) {
        mutations->items[mutations->count++] = edubba_add_bytes(
            cell.family, column, timestamp_us, edubba_bytes_of(cell.value, cell.value_bytes));
        return -1;
    }
    if (!word_i64(cell.value, &number)) {
        return session_misuse(session, "'%s' for %s:%s is not a whole number of 64 bits",
                              cell.value, cell.family, cell.column);
    }
    mutations->items[mutations->count++] = edubba_add_int64(cell.family, column, timestamp_us,
                                                            number);
    return -1;
}

int run_addtocell(struct session *session)
{
    struct mutations mutations = {0};
    struct edubba_schema *schema = NULL;
    struct edubba_error error;
    struct edubba_client *client = session_client(session);
    int code = -1;

    if (client == NULL || !mutations_make_room(&mutations, session->argument_count)) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_get_table(client, session->arguments[0], &schema, &error) != EDUBBA_OK) {
        free(mutations.items);
        return session_fail(session, &error);
    }
    for (int i = 2; i < session->argument_count && code < 0; i++) {
        code = add_add(session, &mutations, session->arguments[i], schema);
    }
    if (code < 0) {
        code = write_row(session, &mutations);
    }
    edubba_schema_free(schema);
    free(mutations.items);
    return code;
}

int run_deleterow(struct session *session)
{
    struct edubba_mutation mutation = edubba_delete_from_row();
    return write_row(session, &(struct mutations){&mutation, 1});
}

int run_deletecolumn(struct session *session)
{
    struct edubba_mutation mutation = edubba_delete_from_column(
        session->arguments[2], EDUBBA_TEXT(session->arguments[3]), 0, 0);
    return write_row(session, &(struct mutations){&mutation, 1});
}

int run_deleteallrows(struct session *session)
{
    struct edubba_bytes prefix = EDUBBA_NOTHING;
    struct edubba_error error;

    if (session->argument_count == 2) {
        char *word = session->arguments[1];
        const char *value = word_value(word, "prefix");
        if (value == NULL || value[0] == '\0') {
            return session_misuse(session, "'%s' is not prefix=KEY", word);
        }
        int exit_code = session_key(session, word + strlen("prefix="), &prefix);
        if (exit_code >= 0) {
            return exit_code;
        }
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code code = prefix.size > 0 ? edubba_drop_prefix(table, prefix, &error)
                                            : edubba_drop_all_rows(table, &error);
    edubba_table_close(table);
    return code == EDUBBA_OK ? session_done(session) : session_fail(session, &error);
}

/* --- conditional writes ------------------------------------------------------------------------- */

struct branches {
    struct mutations if_true;
    struct mutations if_false;
    struct edubba_filter *predicate;
};

/* Returns the exit code, or -1 to go on. */
static int parse_branches(struct session *session, struct branches *branches)
{
    for (int i = 2; i < session->argument_count; i++) {
        char *word = session->arguments[i];
        bool good = true;
        if (word_value(word, "true") != NULL) {
            good = add_set(&branches->if_true, word + strlen("true="));
        } else if (word_value(word, "false") != NULL) {
            good = add_set(&branches->if_false, word + strlen("false="));
        } else if (word_value(word, "columns") != NULL && branches->predicate == NULL) {
            branches->predicate = word_columns_filter(word + strlen("columns="), &good);
        } else {
            good = false;
        }
        if (!good) {
            return session_misuse(session, "'%s' is not understood", word);
        }
    }
    return -1;
}

int run_checkandmutate(struct session *session)
{
    struct branches branches = {0};
    struct edubba_bytes row = EDUBBA_NOTHING;
    struct edubba_error error;
    bool matched = false;

    if (!mutations_make_room(&branches.if_true, session->argument_count) ||
        !mutations_make_room(&branches.if_false, session->argument_count)) {
        return EXIT_CODE_FAILED;
    }
    int code = parse_branches(session, &branches);
    code = code < 0 ? session_row(session, &row) : code;
    struct edubba_table *table = code < 0 ? session_table(session, session->arguments[0]) : NULL;
    if (table != NULL) {
        if (edubba_check_and_mutate_row(table, row, branches.predicate, branches.if_true.items,
                                        branches.if_true.count, branches.if_false.items,
                                        branches.if_false.count, &matched, &error) == EDUBBA_OK) {
            fprintf(session->out, session->json ? "{\"matched\":%s}\n" : "matched: %s\n",
                    matched ? "true" : "false");
            code = EXIT_CODE_OK;
        } else {
            code = session_fail(session, &error);
        }
        edubba_table_close(table);
    }
    edubba_filter_free(branches.predicate);
    free(branches.if_true.items);
    free(branches.if_false.items);
    return code < 0 ? EXIT_CODE_FAILED : code;
}

int run_readmodifywrite(struct session *session)
{
    struct edubba_rmw_rule rule = {.family = EDUBBA_TEXT(session->arguments[2]),
                                   .qualifier = EDUBBA_TEXT(session->arguments[3])};
    const char *word = session->arguments[4];
    const char *append = word_value(word, "append");
    const char *increment = word_value(word, "increment");
    struct edubba_bytes key;
    struct edubba_row *row = NULL;
    struct edubba_error error;

    if (append != NULL) {
        rule.kind = EDUBBA_APPEND;
        rule.append = EDUBBA_TEXT(append);
    } else if (increment != NULL && word_i64(increment, &rule.increment)) {
        rule.kind = EDUBBA_INCREMENT;
    } else {
        return session_misuse(session, "'%s' is neither append=VALUE nor increment=NUMBER", word);
    }
    int exit_code = session_row(session, &key);
    if (exit_code >= 0) {
        return exit_code;
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code code = edubba_read_modify_write_row(table, key, &rule, 1, &row, &error);
    if (code == EDUBBA_OK && row != NULL) {
        print_row(session->out, row, NULL, session->json, false);
    }
    edubba_row_free(row);
    edubba_table_close(table);
    return code == EDUBBA_OK ? EXIT_CODE_OK : session_fail(session, &error);
}

/*
 * A program outside the tree: writes a row, adds to a counter, reads both back.
 *
 *   cc example.c $(pkg-config --cflags --libs edubba) -o example
 *   EDUBBA_MASTERS=tcp://127.0.0.1:7400 ./example TABLE      (families: cf, and sum of type intsum)
 */
#include <edubba_keys.h>
#include <stdio.h>

static int fail(const struct edubba_error *error)
{
    fprintf(stderr, "example: %s: %s\n", edubba_code_name(error->code), error->text);
    return 1;
}

/* Is the family of aggregate cells?  Their values do not say so themselves. */
static bool is_aggregate(const struct edubba_schema *schema, struct edubba_bytes family)
{
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct edubba_family *each = &schema->families[i];
        if (strlen(each->name) == family.size &&
            memcmp(each->name, family.data, family.size) == 0) {
            return each->aggregate != EDUBBA_PLAIN;
        }
    }
    return false;
}

static void print_cell(const struct edubba_schema *schema, const struct edubba_cell *cell)
{
    int64_t number = 0;
    printf("%.*s:%.*s = ", (int)cell->family.size, (const char *)cell->family.data,
           (int)cell->qualifier.size, (const char *)cell->qualifier.data);
    if (is_aggregate(schema, cell->family) &&
        edubba_aggregate_value(cell->value, &number) == EDUBBA_OK) {
        printf("%lld\n", (long long)number);
    } else {
        printf("%.*s\n", (int)cell->value.size, (const char *)cell->value.data);
    }
}

static int write_and_read(struct edubba_table *table, const struct edubba_schema *schema)
{
    struct edubba_error error;
    struct edubba_row *row = NULL;
    struct edubba_key key;
    struct edubba_mutation mutations[2] = {
        edubba_set_cell("cf", EDUBBA_TEXT("greeting"), EDUBBA_NOW, EDUBBA_TEXT("welcome!")),
        edubba_add_int64("sum", EDUBBA_TEXT("visits"), 0, 1),
    };

    edubba_key_init(&key);
    edubba_key_add_salt(&key, edubba_salt(EDUBBA_TEXT("user17"), 16), 16);
    edubba_key_add_text(&key, "user17");
    if (edubba_mutate_row(table, edubba_key_bytes(&key), mutations, 2, &error) != EDUBBA_OK ||
        edubba_read_row(table, edubba_key_bytes(&key), NULL, &row, &error) != EDUBBA_OK) {
        return fail(&error);
    }
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        print_cell(schema, &row->cells[i]);
    }
    edubba_row_free(row);
    return 0;
}

int main(int argument_count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_error error;
    struct edubba_client *client = NULL;
    struct edubba_table *table = NULL;
    struct edubba_schema *schema = NULL;
    int result = 1;

    options.deadline_ms = 5000;
    if (argument_count != 2) {
        printf("usage: example TABLE   (libedubba %s)\n", EDUBBA_VERSION);
        return 2;
    }
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK) {
        return fail(&error);
    }
    if (edubba_get_table(client, arguments[1], &schema, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[1], &table, &error) != EDUBBA_OK) {
        result = fail(&error);
    } else {
        result = write_and_read(table, schema);
    }
    edubba_schema_free(schema);
    edubba_table_close(table);
    edubba_client_close(client);
    return result;
}

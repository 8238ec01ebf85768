#include <criterion/criterion.h>

#include <string.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "gateway/convert/convert.h"

typedef Google__Bigtable__V2__Mutation Mutation;
typedef Google__Bigtable__V2__Value Value;

static struct arena arena;

static void *take(size_t size)
{
    void *memory = arena_allocate(&arena, size);
    cr_assert_not_null(memory);
    memset(memory, 0, size);
    return memory;
}

static void begin(void)
{
    arena_init(&arena, 64 * 1024, SIZE_MAX);
}

static void end(void)
{
    arena_deinit(&arena);
}

TestSuite(convert_mutation, .init = begin, .fini = end);

static char *text_of(const char *text)
{
    return arena_copy_text(&arena, bytes_of_text(text));
}

static ProtobufCBinaryData data_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)text_of(text)};
}

static bool is_text(struct edubba_bytes bytes, const char *text)
{
    return bytes_equal(bytes_of(bytes.data, bytes.size), bytes_of_text(text));
}

/* --- making mutations of the API -------------------------------------------------------------- */

static Mutation *make(int kind)
{
    Mutation *mutation = take(sizeof *mutation);
    google__bigtable__v2__mutation__init(mutation);
    mutation->mutation_case = (Google__Bigtable__V2__Mutation__MutationCase)kind;
    return mutation;
}

static Mutation *set_cell(int64_t timestamp_us)
{
    Mutation *mutation = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL);
    mutation->set_cell = take(sizeof *mutation->set_cell);
    google__bigtable__v2__mutation__set_cell__init(mutation->set_cell);
    mutation->set_cell->family_name = text_of("f");
    mutation->set_cell->column_qualifier = data_of("q");
    mutation->set_cell->timestamp_micros = timestamp_us;
    mutation->set_cell->value = data_of("value");
    return mutation;
}

static Value *value_of(int kind)
{
    Value *value = take(sizeof *value);
    google__bigtable__v2__value__init(value);
    value->kind_case = (Google__Bigtable__V2__Value__KindCase)kind;
    return value;
}

static Mutation *add_to_cell(Value *input)
{
    Mutation *mutation = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_ADD_TO_CELL);
    mutation->add_to_cell = take(sizeof *mutation->add_to_cell);
    google__bigtable__v2__mutation__add_to_cell__init(mutation->add_to_cell);
    mutation->add_to_cell->family_name = text_of("f");
    mutation->add_to_cell->column_qualifier = value_of(GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_VALUE);
    mutation->add_to_cell->column_qualifier->raw_value = data_of("q");
    mutation->add_to_cell->timestamp = value_of(
        GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_TIMESTAMP_MICROS);
    mutation->add_to_cell->timestamp->raw_timestamp_micros = 3000;
    mutation->add_to_cell->input = input;
    return mutation;
}

/* The two messages have the same fields. */
static Mutation *merge_to_cell(Value *input)
{
    Mutation *add = add_to_cell(input);
    Mutation *mutation = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_MERGE_TO_CELL);
    mutation->merge_to_cell = take(sizeof *mutation->merge_to_cell);
    google__bigtable__v2__mutation__merge_to_cell__init(mutation->merge_to_cell);
    mutation->merge_to_cell->family_name = add->add_to_cell->family_name;
    mutation->merge_to_cell->column_qualifier = add->add_to_cell->column_qualifier;
    mutation->merge_to_cell->timestamp = add->add_to_cell->timestamp;
    mutation->merge_to_cell->input = input;
    return mutation;
}

static Value *int_value(int64_t integer)
{
    Value *value = value_of(GOOGLE__BIGTABLE__V2__VALUE__KIND_INT_VALUE);
    value->int_value = integer;
    return value;
}

static Value *bytes_value(int kind, const char *text)
{
    Value *value = value_of(kind);
    value->bytes_value = data_of(text); /* raw_value shares its place */
    return value;
}

/* --- converting ------------------------------------------------------------------------------- */

static struct edubba_mutation converted(Mutation *mutation, bool is_micros)
{
    struct edubba_mutation *made = NULL;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(
        api_convert_mutations(&mutation, 1, API_MUTATION_LIST, is_micros, &arena, &made, &error),
        STATUS_OK, "%s", error.text);
    return made[0];
}

static const char *refusal_of(Mutation *mutation)
{
    static struct error error;
    struct edubba_mutation *made = NULL;
    Mutation *list[] = {set_cell(0), mutation};
    error_clear(&error);
    cr_assert_eq(api_convert_mutations(list, 2, API_MUTATION_LIST, false, &arena, &made, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_null(made);
    return error.text;
}

Test(convert_mutation, a_cell)
{
    struct edubba_mutation made = converted(set_cell(-1), false);
    cr_assert_eq(made.kind, EDUBBA_SET_CELL);
    cr_assert(is_text(made.family, "f"));
    cr_assert(is_text(made.qualifier, "q"));
    cr_assert(is_text(made.value, "value"));
    cr_assert_eq(made.timestamp_us, EDUBBA_NOW);
}

Test(convert_mutation, deletions)
{
    Mutation *column = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_COLUMN);
    column->delete_from_column = take(sizeof *column->delete_from_column);
    google__bigtable__v2__mutation__delete_from_column__init(column->delete_from_column);
    column->delete_from_column->family_name = text_of("f");
    column->delete_from_column->column_qualifier = data_of("");
    struct edubba_mutation made = converted(column, false);
    cr_assert_eq(made.kind, EDUBBA_DELETE_FROM_COLUMN);
    cr_assert(made.start_us == 0 && made.end_us == 0 && made.qualifier.size == 0);

    Google__Bigtable__V2__TimestampRange range = GOOGLE__BIGTABLE__V2__TIMESTAMP_RANGE__INIT;
    range.start_timestamp_micros = 1000;
    range.end_timestamp_micros = 2000;
    column->delete_from_column->time_range = &range;
    made = converted(column, false);
    cr_assert(made.start_us == 1000 && made.end_us == 2000);
    column->delete_from_column->column_qualifier = data_of("q");
    made = converted(column, false);
    cr_assert(is_text(made.family, "f") && is_text(made.qualifier, "q"));
    range.end_timestamp_micros = 0;
    made = converted(column, false);
    cr_assert(made.start_us == 1000 && made.end_us == 0, "for ever");
    range.start_timestamp_micros = 0;
    made = converted(column, false);
    cr_assert(made.start_us == 0 && made.end_us == 0, "all");

    Mutation *family = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_FAMILY);
    family->delete_from_family = take(sizeof *family->delete_from_family);
    google__bigtable__v2__mutation__delete_from_family__init(family->delete_from_family);
    family->delete_from_family->family_name = text_of("g");
    made = converted(family, false);
    cr_assert(made.kind == EDUBBA_DELETE_FROM_FAMILY && is_text(made.family, "g"));

    made = converted(make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_ROW), false);
    cr_assert_eq(made.kind, EDUBBA_DELETE_FROM_ROW);
}

Test(convert_mutation, a_timestamp_that_the_client_drew_is_cut_to_what_the_table_keeps)
{
    Mutation *mutation = set_cell(1234567);
    cr_assert_eq(converted(mutation, false).timestamp_us, 1234567, "the servers refuse it");
    mutation->timestamp_origin =
        GOOGLE__BIGTABLE__V2__MUTATION__TIMESTAMP_ORIGIN__CLIENT_AUTO_GENERATED;
    cr_assert_eq(converted(mutation, false).timestamp_us, 1234000);
    cr_assert_eq(converted(mutation, true).timestamp_us, 1234567);
    mutation->set_cell->timestamp_micros = -1;
    cr_assert_eq(converted(mutation, false).timestamp_us, EDUBBA_NOW);
    mutation->set_cell->timestamp_micros = INT64_MAX;
    cr_assert_eq(converted(mutation, false).timestamp_us, INT64_MAX - INT64_MAX % 1000);
}

Test(convert_mutation, inputs_of_aggregates)
{
    struct edubba_mutation made = converted(add_to_cell(int_value(-5)), false);
    cr_assert(made.kind == EDUBBA_ADD_TO_CELL && made.input == EDUBBA_INPUT_INT64);
    cr_assert(made.integer == -5 && made.timestamp_us == 3000);
    cr_assert(is_text(made.family, "f") && is_text(made.qualifier, "q"));
    cr_assert_eq(converted(add_to_cell(NULL), false).input, EDUBBA_INPUT_NULL);
    cr_assert_eq(converted(add_to_cell(value_of(0)), false).input, EDUBBA_INPUT_NULL);

    made = converted(
        merge_to_cell(bytes_value(GOOGLE__BIGTABLE__V2__VALUE__KIND_BYTES_VALUE, "state")), false);
    cr_assert(made.kind == EDUBBA_MERGE_TO_CELL && made.input == EDUBBA_INPUT_BYTES);
    cr_assert(is_text(made.value, "state") && made.timestamp_us == 3000);
    cr_assert(is_text(made.family, "f") && is_text(made.qualifier, "q"));
    made = converted(
        merge_to_cell(bytes_value(GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_VALUE, "state")), false);
    cr_assert(made.input == EDUBBA_INPUT_RAW && is_text(made.value, "state"));
}

Test(convert_mutation, inputs_that_nothing_takes_are_refused_in_bigtables_words)
{
    Value *date = value_of(0);
    ProtobufCMessageUnknownField unknown = {.tag = 13};
    date->base.n_unknown_fields = 1;
    date->base.unknown_fields = &unknown;
    cr_assert_str_eq(
        refusal_of(add_to_cell(value_of(GOOGLE__BIGTABLE__V2__VALUE__KIND_BOOL_VALUE))),
        "Error in field 'Mutation list' : Error in element #1 : Error in field "
        "'input' : must use `int_value`");
    cr_assert_str_eq(refusal_of(add_to_cell(date)),
                     "Error in field 'Mutation list' : Error in element #1 : Error in field "
                     "'input' : must use `int_value`");
    cr_assert_str_eq(refusal_of(merge_to_cell(int_value(1))),
                     "Error in field 'Mutation list' : Error in element #1 : Error in field "
                     "'input' : must use `bytes_value`");
    unknown.tag = 7; /* a value's type is no value */
    cr_assert_eq(converted(add_to_cell(date), false).input, EDUBBA_INPUT_NULL);
}

Test(convert_mutation, a_deletion_of_no_time_is_refused)
{
    Mutation *column = make(GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_COLUMN);
    Google__Bigtable__V2__TimestampRange range = GOOGLE__BIGTABLE__V2__TIMESTAMP_RANGE__INIT;
    column->delete_from_column = take(sizeof *column->delete_from_column);
    google__bigtable__v2__mutation__delete_from_column__init(column->delete_from_column);
    column->delete_from_column->family_name = text_of("f");
    column->delete_from_column->time_range = &range;
    range.start_timestamp_micros = 2000;
    range.end_timestamp_micros = 2000;
    cr_assert_str_eq(refusal_of(column),
                     "Error in field 'Mutation list' : Error in element #1 : Error in field "
                     "'time_range' : start 2000 must be before the end, which is the same");
    range.end_timestamp_micros = 1000;
    cr_assert_eq(converted(column, false).end_us, 1000, "as it is: servers refuse it");
}

Test(convert_mutation, what_is_missing_is_refused)
{
    Mutation *no_time = add_to_cell(int_value(1));
    Mutation *no_column = add_to_cell(int_value(1));
    no_time->add_to_cell->timestamp = NULL;
    no_column->add_to_cell->column_qualifier = int_value(3);
    cr_assert_not_null(strstr(refusal_of(no_time), "'timestamp'"));
    cr_assert_not_null(strstr(refusal_of(no_column), "'column_qualifier'"));
    cr_assert_not_null(strstr(refusal_of(make(0)), "No mutation is set"));
}

Test(convert_mutation, lists_have_limits)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(api_check_count(1, API_MUTATION_LIST, &error), STATUS_OK);
    cr_assert_eq(api_check_count(LIMIT_MUTATIONS_PER_REQUEST, API_MUTATION_LIST, &error),
                 STATUS_OK);
    cr_assert_eq(api_check_count(0, API_MUTATION_LIST, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(api_check_count(LIMIT_MUTATIONS_PER_REQUEST + 1, API_MUTATION_LIST, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "Error in field 'Mutation list' : Too many mutations: 100001 "
                                 "provided; limit 100000");
    cr_assert_eq(api_check_count(120000, NULL, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "Too many mutations: 120000 provided; limit 100000");
}

static const char *identity_row = "row";

static enum status identity_of(const char *token,
                               Google__Protobuf__Timestamp *start,
                               struct arena *arena,
                               const struct edubba_identity **ret_identity)
{
    Google__Bigtable__V2__Idempotency idempotency = GOOGLE__BIGTABLE__V2__IDEMPOTENCY__INIT;
    idempotency.token = data_of(token);
    ProtobufCBinaryData row = data_of(identity_row);
    idempotency.start_time = start;
    return api_convert_idempotency(&idempotency, &row, arena, ret_identity, NULL);
}

Test(convert_mutation, a_token_is_an_identity)
{
    Google__Protobuf__Timestamp start = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    const struct edubba_identity *first = NULL;
    const struct edubba_identity *second = NULL;
    const ProtobufCBinaryData row = data_of("row");
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    start.seconds = 600;
    start.nanos = 5000;
    cr_assert_eq(api_convert_idempotency(NULL, &row, &arena, &first, NULL), STATUS_OK);
    cr_assert_null(first);
    cr_assert_eq(identity_of("12345678", &start, &arena, &first), STATUS_OK);
    cr_assert_neq(first->client, 0);
    cr_assert_neq(first->sequence, 0);
    cr_assert_eq(first->first_attempt_us, 600000005);

    cr_assert_eq(identity_of("12345678", &start, &arena, &second), STATUS_OK);
    cr_assert_eq(first->client, second->client);
    cr_assert_eq(first->sequence, second->sequence);
    identity_row = "other"; /* another change, though it should have a token of its own */
    cr_assert_eq(identity_of("12345678", &start, &arena, &second), STATUS_OK);
    cr_assert_neq(first->sequence, second->sequence);
    identity_row = "row";
    start.seconds = 659; /* the same minute, another token */
    cr_assert_eq(identity_of("87654321", &start, &arena, &second), STATUS_OK);
    cr_assert_eq(first->client, second->client);
    cr_assert_neq(first->sequence, second->sequence);
    start.seconds = 660;
    cr_assert_eq(identity_of("12345678", &start, &arena, &second), STATUS_OK);
    cr_assert_neq(first->client, second->client);

    cr_assert_eq(identity_of("1234567", &start, &arena, &first), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(identity_of("12345678", NULL, &arena, &first), STATUS_INVALID_ARGUMENT);
    start.nanos = -1;
    cr_assert_eq(identity_of("12345678", &start, &arena, &first), STATUS_INVALID_ARGUMENT);
    start.nanos = 0;
    start.seconds = INT64_MAX;
    cr_assert_eq(identity_of("12345678", &start, &arena, &first), STATUS_INVALID_ARGUMENT);
    arena_deinit(&arena);
}

Test(convert_mutation, without_memory_it_says_so)
{
    struct arena small;
    struct edubba_mutation *made = NULL;
    Mutation *mutation = set_cell(0);
    arena_init(&small, 64, 8);
    cr_assert_eq(api_convert_mutations(&mutation, 1, API_MUTATION_LIST, false, &small, &made, NULL),
                 STATUS_NO_MEMORY);
    arena_deinit(&small);
}

/* --- rules ------------------------------------------------------------------------------------ */

Test(convert_mutation, rules)
{
    Google__Bigtable__V2__ReadModifyWriteRule append;
    Google__Bigtable__V2__ReadModifyWriteRule increment;
    Google__Bigtable__V2__ReadModifyWriteRule *list[] = {&append, &increment};
    struct edubba_rmw_rule *made = NULL;
    struct error error = {.status = STATUS_OK};
    google__bigtable__v2__read_modify_write_rule__init(&append);
    google__bigtable__v2__read_modify_write_rule__init(&increment);
    append.family_name = text_of("f");
    append.rule_case = GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    append.append_value = data_of("tail");
    increment.family_name = text_of("g");
    increment.rule_case = GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
    increment.increment_amount = -3;
    cr_assert_eq(api_convert_rules(list, 2, &arena, &made, &error), STATUS_OK);
    cr_assert(made[0].kind == EDUBBA_APPEND && is_text(made[0].append, "tail"));
    cr_assert(made[1].kind == EDUBBA_INCREMENT && made[1].increment == -3);
    cr_assert(is_text(made[1].family, "g"));
    increment.rule_case = GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE__NOT_SET;
    cr_assert_eq(api_convert_rules(list, 2, &arena, &made, &error), STATUS_INVALID_ARGUMENT);
}

/* --- rows ------------------------------------------------------------------------------------- */

Test(convert_mutation, sets_of_rows)
{
    Google__Bigtable__V2__RowSet rows = GOOGLE__BIGTABLE__V2__ROW_SET__INIT;
    Google__Bigtable__V2__RowRange range;
    Google__Bigtable__V2__RowRange *ranges[] = {&range};
    ProtobufCBinaryData keys[] = {data_of("a"), data_of("b")};
    struct edubba_scan_options options = {0};
    google__bigtable__v2__row_range__init(&range);
    cr_assert_eq(api_convert_row_set(NULL, &arena, &options), STATUS_OK);
    cr_assert_eq(api_convert_row_set(&rows, &arena, &options), STATUS_OK);
    cr_assert(options.key_count == 0 && options.range_count == 0, "all of the table");
    rows.row_keys = keys;
    rows.n_row_keys = 2;
    rows.row_ranges = ranges;
    rows.n_row_ranges = 1;
    range.start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_OPEN;
    range.start_key_open = data_of("c");
    range.end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_CLOSED;
    range.end_key_closed = data_of("d");
    cr_assert_eq(api_convert_row_set(&rows, &arena, &options), STATUS_OK);
    cr_assert(options.key_count == 2 && is_text(options.keys[1], "b"));
    cr_assert(options.range_count == 1 && is_text(options.ranges[0].start, "c"));
    cr_assert(options.ranges[0].start_open && options.ranges[0].end_closed);
    cr_assert(is_text(options.ranges[0].end, "d"));
    range.start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN;
    struct edubba_bounds bounds = api_convert_range(&range);
    cr_assert(!bounds.start_open && is_text(bounds.start, "c"));
    cr_assert(!bounds.end_closed && is_text(bounds.end, "d"));
    range.end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_CLOSED;
    range.end_key_closed = data_of("");
    cr_assert_not(api_convert_range(&range).end_closed, "an empty end is none");
}

static bool is_data(ProtobufCBinaryData data, const char *text)
{
    return bytes_equal(bytes_of(data.data, data.len), bytes_of_text(text));
}

Test(convert_mutation, a_row_in_one_message)
{
    struct edubba_cell cells[] = {
        {EDUBBA_TEXT("f"), EDUBBA_TEXT("a"), 2, EDUBBA_TEXT("new"), EDUBBA_NOTHING},
        {EDUBBA_TEXT("f"), EDUBBA_TEXT("a"), 1, EDUBBA_TEXT("old"), EDUBBA_NOTHING},
        {EDUBBA_TEXT("f"), EDUBBA_TEXT("b"), 1, EDUBBA_NOTHING, EDUBBA_NOTHING},
        {EDUBBA_TEXT("g"), EDUBBA_TEXT("b"), 1, EDUBBA_TEXT("x"), EDUBBA_NOTHING},
    };
    struct edubba_row row = {EDUBBA_TEXT("r"), cells, 4};
    Google__Bigtable__V2__Row made;
    cr_assert_eq(api_convert_row(&row, &arena, &made), STATUS_OK);
    cr_assert(is_data(made.key, "r"));
    cr_assert_eq(made.n_families, 2);
    cr_assert_str_eq(made.families[0]->name, "f");
    cr_assert_eq(made.families[0]->n_columns, 2);
    cr_assert_eq(made.families[0]->columns[0]->n_cells, 2);
    cr_assert(is_data(made.families[0]->columns[0]->qualifier, "a"));
    cr_assert_eq(made.families[0]->columns[0]->cells[0]->timestamp_micros, 2);
    cr_assert(is_data(made.families[0]->columns[0]->cells[0]->value, "new"));
    cr_assert_eq(made.families[0]->columns[0]->cells[1]->timestamp_micros, 1);
    cr_assert(is_data(made.families[0]->columns[0]->cells[1]->value, "old"));
    cr_assert(is_data(made.families[0]->columns[1]->qualifier, "b"));
    cr_assert_eq(made.families[0]->columns[1]->n_cells, 1);
    cr_assert_eq(made.families[0]->columns[1]->cells[0]->value.len, 0);
    cr_assert_str_eq(made.families[1]->name, "g");
    cr_assert_eq(made.families[1]->n_columns, 1);
    cr_assert(is_data(made.families[1]->columns[0]->qualifier, "b"));
    cr_assert_eq(made.families[1]->columns[0]->n_cells, 1);
    cr_assert(is_data(made.families[1]->columns[0]->cells[0]->value, "x"));
}

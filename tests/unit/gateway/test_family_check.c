/* What is said of mutations before they are sent, against what a server says of each. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/prng.h"
#include "common/model/mutation.h"
#include "gateway/core/family_check.h"

#define KINDS 6 /* of families: plain, and the aggregates, by number */

static const char *const NAMES[] = {"plain", "sum", "low", "high", "seen", "bytes", "gone", ""};

static struct family_types types_of(size_t count)
{
    struct edubba_family families[KINDS];
    struct family_types types;
    for (size_t i = 0; i < count; i++) {
        families[i] = (struct edubba_family){.name = NAMES[i],
                                             .aggregate = (enum edubba_aggregate)i};
    }
    cr_assert_eq(family_types_init(&types, families, count), STATUS_OK);
    return types;
}

/* --- beside the model ------------------------------------------------------------------------- */

static struct edubba_mutation random_mutation(struct prng *prng)
{
    static const char bytes[17] = "";
    const char *family = NAMES[prng_below(prng, sizeof NAMES / sizeof *NAMES - 1)];
    return (struct edubba_mutation){
        .kind = (enum edubba_mutation_kind)(1 + prng_below(prng, 6)),
        .family = EDUBBA_TEXT(family),
        .qualifier = EDUBBA_TEXT("q"),
        .input = (enum edubba_input_kind)prng_below(prng, 4),
        .integer = 5,
        .value = {bytes, prng_chance(prng, 2) ? 8 : (size_t)prng_below(prng, 17)},
    };
}

static struct mutation model_of(const struct edubba_mutation *mutation)
{
    return (struct mutation){
        .kind = (enum mutation_kind)mutation->kind,
        .family = bytes_of(mutation->family.data, mutation->family.size),
        .qualifier = bytes_of_text("q"),
        .input = (enum input_kind)mutation->input,
        .integer = mutation->integer,
        .value = bytes_of(mutation->value.data, mutation->value.size),
    };
}

/* The server's word, as a verdict; a sketch's state is not our affair. */
static enum family_verdict verdict_of_model(const struct table *table,
                                            const struct mutation *mutation)
{
    struct change *changes = NULL;
    size_t count = 0;
    struct error error = {.status = STATUS_OK};
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    enum status status = mutation_resolve(table, bytes_of_text("r"), mutation, 1, 1000, &arena,
                                          &changes, &count, &error);
    arena_deinit(&arena);
    if (status == STATUS_OK || strstr(error.text, "type mismatch: ") != NULL) {
        return FAMILY_FITS;
    }
    if (status == STATUS_NOT_FOUND) {
        return FAMILY_IS_UNKNOWN;
    }
    if (strstr(error.text, "must use `int_value`") != NULL) {
        return FAMILY_ADDS_INT64;
    }
    if (strstr(error.text, "must use `bytes_value`") != NULL) {
        return FAMILY_ADDS_BYTES;
    }
    cr_assert_str_eq(error.text,
                     "Error while mutating the row 'r' (t) : Column family type mismatch");
    return FAMILY_IS_OTHER_TYPE;
}

Test(family_check, says_what_a_server_would)
{
    struct family families[KINDS];
    struct table table = {.number = 1, .id = bytes_of_text("t"), .families = families};
    struct family_types types = types_of(KINDS);
    struct prng prng = prng_of_seed(20);
    unsigned seen[FAMILY_ADDS_BYTES + 1] = {0};
    for (uint32_t i = 0; i < KINDS; i++) {
        families[i] = (struct family){i + 1, bytes_of_text(NAMES[i]), (enum aggregate_kind)i, {0}};
    }
    table.family_count = KINDS;
    for (int i = 0; i < 20000; i++) {
        struct edubba_mutation mutation = random_mutation(&prng);
        if (mutation.kind == EDUBBA_MERGE_TO_CELL && mutation.input == EDUBBA_INPUT_INT64) {
            continue; /* the conversion has refused it */
        }
        struct mutation modelled = model_of(&mutation);
        size_t element = 9;
        enum family_verdict verdict = family_check(&types, &mutation, 1, &element);
        cr_assert_eq(verdict, verdict_of_model(&table, &modelled), "kind %d, family %.*s, input %d",
                     (int)mutation.kind, (int)mutation.family.size,
                     (const char *)mutation.family.data, (int)mutation.input);
        cr_assert_eq(element, verdict == FAMILY_FITS ? 9 : 0);
        seen[verdict]++;
    }
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        cr_assert_gt(seen[i], 100, "verdict %zu", i);
    }
    family_types_deinit(&types);
}

/* --- lists ------------------------------------------------------------------------------------ */

Test(family_check, the_worst_of_a_list_counts_and_its_first)
{
    struct family_types types = types_of(KINDS);
    struct edubba_mutation list[] = {
        edubba_set_cell("plain", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
        edubba_set_cell("gone", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
        edubba_set_cell("sum", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
        edubba_set_cell("low", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
        edubba_add_bytes("sum", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
    };
    size_t element = 0;
    cr_assert_eq(family_check(&types, list, 1, &element), FAMILY_FITS);
    cr_assert_eq(family_check(&types, list, 2, &element), FAMILY_IS_UNKNOWN);
    cr_assert_eq(element, 1);
    cr_assert_eq(family_check(&types, list, 4, &element), FAMILY_IS_OTHER_TYPE);
    cr_assert_eq(element, 2);
    cr_assert_eq(family_check(&types, list, 5, &element), FAMILY_ADDS_INT64);
    cr_assert_eq(element, 4);
    family_types_deinit(&types);
}

Test(family_check, a_table_may_have_no_family)
{
    struct family_types types;
    struct edubba_mutation mutation = edubba_set_cell("f", EDUBBA_TEXT("q"), 0, EDUBBA_NOTHING);
    size_t element = 0;
    cr_assert_eq(family_types_init(&types, NULL, 0), STATUS_OK);
    cr_assert_eq(family_check(&types, &mutation, 1, &element), FAMILY_IS_UNKNOWN);
    family_types_deinit(&types);
}

/*
 * The text form of garbage-collection rules.
 *
 *   rule    := product { ("or" | "||") product }
 *   product := term { ("and" | "&&") term }
 *   term    := "maxversions=" digits | "maxage=" digits unit | "(" rule ")"
 *
 * "and" binds tighter than "or".  A list of equal operators becomes one rule with many children;
 * parentheses are kept as nesting.  Formatting writes parentheses wherever a rule with children
 * stands inside another, so that parsing gives back exactly the rule that was formatted.
 */
#include "common/model/schema.h"

#include <inttypes.h>

#include "common/base/assert.h"

#define PARENTHESES_DEPTH_MAX 20
#define CHILDREN_MAX          256 /* over what LIMIT_GC_RULE_BYTES lets pass */

struct unit {
    const char *name;
    int64_t us;
};

/* Ascending; formatting takes the largest that divides, up to days. */
static const struct unit UNITS[] = {
    {"us", 1},
    {"ms", 1000},
    {"s", INT64_C(1000000)},
    {"m", INT64_C(60000000)},
    {"h", INT64_C(3600000000)},
    {"d", INT64_C(86400000000)},
    {"w", INT64_C(604800000000)},
};

enum {
    UNIT_COUNT = sizeof UNITS / sizeof *UNITS,
    UNIT_DAY = 5,
};

struct parser {
    struct arena *arena;
    const char *at;   /* first character of the current word */
    size_t word_size; /* 0 at the end of the text */
    int depth;
    struct error *error;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Words are parentheses and runs of anything else. */
static void measure_word(struct parser *parser)
{
    while (is_space(*parser->at)) {
        parser->at++;
    }
    size_t size = 0;
    if (*parser->at == '(' || *parser->at == ')') {
        size = 1;
    } else {
        while (parser->at[size] != '\0' && !is_space(parser->at[size]) && parser->at[size] != '(' &&
               parser->at[size] != ')') {
            size++;
        }
    }
    parser->word_size = size;
}

static void take_word(struct parser *parser)
{
    parser->at += parser->word_size;
    measure_word(parser);
}

static bool word_is(const struct parser *parser, const char *text)
{
    return bytes_equal(bytes_of(parser->at, parser->word_size), bytes_of_text(text));
}

static enum status refuse_word(struct parser *parser, const char *wanted)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    if (parser->word_size == 0) {
        return error_set(parser->error, STATUS_INVALID_ARGUMENT,
                         "Garbage-collection rule ends too early: expected %s", wanted);
    }
    return error_set(parser->error, STATUS_INVALID_ARGUMENT,
                     "Garbage-collection rule: expected %s, not '%s'", wanted,
                     bytes_printable(bytes_of(parser->at, parser->word_size), text));
}

/* Digits at the start of text; how many, or 0 when there are none or the number is over max. */
static size_t parse_number(struct bytes text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;
    for (; i < text.size_bytes && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (number > (max - digit) / 10) {
            return 0;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return i;
}

static bool parse_age(struct bytes text, int64_t *ret_age_us)
{
    uint64_t number = 0;
    size_t digits = parse_number(text, INT64_MAX, &number);
    struct bytes unit = {text.data + digits, text.size_bytes - digits};
    for (int i = 0; digits > 0 && i < UNIT_COUNT; i++) {
        if (bytes_equal(unit, bytes_of_text(UNITS[i].name))) {
            bool fits = number <= (uint64_t)(INT64_MAX / UNITS[i].us);
            *ret_age_us = fits ? (int64_t)number * UNITS[i].us : 0;
            return fits;
        }
    }
    return false;
}

static enum status parse_limit(struct parser *parser, struct gc_rule *ret_rule)
{
    const struct bytes word = bytes_of(parser->at, parser->word_size);
    const struct bytes versions = bytes_of_text("maxversions=");
    const struct bytes age = bytes_of_text("maxage=");
    struct gc_rule rule = {.kind = GC_NONE};

    if (bytes_starts_with(word, versions)) {
        struct bytes rest = {word.data + versions.size_bytes,
                             word.size_bytes - versions.size_bytes};
        uint64_t number = 0;
        size_t digits = parse_number(rest, INT32_MAX, &number);
        if (digits == 0 || digits != rest.size_bytes) {
            return refuse_word(parser, "maxversions=N");
        }
        rule = (struct gc_rule){.kind = GC_VERSIONS, .versions = (uint32_t)number};
    } else if (bytes_starts_with(word, age)) {
        struct bytes rest = {word.data + age.size_bytes, word.size_bytes - age.size_bytes};
        rule.kind = GC_AGE;
        if (!parse_age(rest, &rule.age_us)) {
            return refuse_word(parser, "maxage=N with a unit of us, ms, s, m, h, d or w");
        }
    } else {
        return refuse_word(parser, "maxversions=N, maxage=N, never or '('");
    }
    take_word(parser);
    *ret_rule = rule;
    return STATUS_OK;
}

static enum status parse_list(struct parser *parser, enum gc_kind kind, struct gc_rule *ret_rule);

static enum status parse_term(struct parser *parser, struct gc_rule *ret_rule)
{
    if (!word_is(parser, "(")) {
        return parse_limit(parser, ret_rule);
    }
    if (parser->depth == PARENTHESES_DEPTH_MAX) {
        return error_set(parser->error, STATUS_INVALID_ARGUMENT,
                         "Garbage-collection rule: nested deeper than %d", PARENTHESES_DEPTH_MAX);
    }
    take_word(parser);
    parser->depth++;
    enum status status = parse_list(parser, GC_UNION, ret_rule);
    parser->depth--;
    if (status != STATUS_OK) {
        return status;
    }
    if (!word_is(parser, ")")) {
        return refuse_word(parser, "'and', 'or' or ')'");
    }
    take_word(parser);
    return STATUS_OK;
}

static bool word_is_operator(const struct parser *parser, enum gc_kind kind)
{
    return kind == GC_UNION ? word_is(parser, "or") || word_is(parser, "||")
                            : word_is(parser, "and") || word_is(parser, "&&");
}

/* A list of GC_UNION has lists of GC_INTERSECTION as members; those have terms. */
static enum status parse_list(struct parser *parser, enum gc_kind kind, struct gc_rule *ret_rule)
{
    struct gc_rule *children = NULL;
    struct gc_rule first = {.kind = GC_NONE};
    uint32_t count = 0;

    for (;;) {
        struct gc_rule child = {.kind = GC_NONE};
        enum status status = kind == GC_UNION ? parse_list(parser, GC_INTERSECTION, &child)
                                              : parse_term(parser, &child);
        if (status != STATUS_OK) {
            return status;
        }
        if (count == 0) {
            first = child;
        } else {
            if (children == NULL) {
                children = arena_allocate_array(parser->arena, CHILDREN_MAX, sizeof *children);
                if (children == NULL) {
                    return error_set(parser->error, STATUS_NO_MEMORY, "out of memory");
                }
                children[0] = first;
            }
            if (count == CHILDREN_MAX) {
                return error_set(parser->error, STATUS_INVALID_ARGUMENT,
                                 "Garbage-collection rule: more than %d parts in one list",
                                 CHILDREN_MAX);
            }
            children[count] = child;
        }
        count++;
        if (!word_is_operator(parser, kind)) {
            break;
        }
        take_word(parser);
    }
    *ret_rule = count == 1
                    ? first
                    : (struct gc_rule){.kind = kind, .children = children, .child_count = count};
    return STATUS_OK;
}

enum status gc_rule_parse(struct arena *arena,
                          const char *text,
                          struct gc_rule *ret_rule,
                          struct error *ret_error)
{
    struct parser parser = {.arena = arena, .at = text, .error = ret_error};
    struct gc_rule rule = {.kind = GC_NONE};

    measure_word(&parser);
    if (word_is(&parser, "never")) {
        take_word(&parser);
    } else {
        enum status status = parse_list(&parser, GC_UNION, &rule);
        if (status != STATUS_OK) {
            return status;
        }
    }
    if (parser.word_size != 0) {
        return refuse_word(&parser, "'and', 'or' or the end");
    }
    enum status status = gc_rule_check(&rule, ret_error);
    if (status == STATUS_OK) {
        *ret_rule = rule;
    }
    return status;
}

static void format_age(int64_t age_us, struct buffer *out)
{
    int i = UNIT_DAY;
    while (i > 0 && age_us % UNITS[i].us != 0) {
        i--;
    }
    buffer_append_format(out, "maxage=%" PRId64 "%s", age_us / UNITS[i].us, UNITS[i].name);
}

void gc_rule_format(const struct gc_rule *rule, struct buffer *out)
{
    switch (rule->kind) {
    case GC_NONE:
        buffer_append_bytes(out, bytes_of_text("never"));
        return;
    case GC_VERSIONS:
        buffer_append_format(out, "maxversions=%" PRIu32, rule->versions);
        return;
    case GC_AGE:
        format_age(rule->age_us, out);
        return;
    case GC_UNION:
    case GC_INTERSECTION:
        break;
    }
    for (uint32_t i = 0; i < rule->child_count; i++) {
        const struct gc_rule *child = &rule->children[i];
        bool nested = child->kind == GC_UNION || child->kind == GC_INTERSECTION;
        if (i > 0) {
            buffer_append_bytes(out, bytes_of_text(rule->kind == GC_UNION ? " or " : " and "));
        }
        buffer_append_bytes(out, bytes_of_text(nested ? "(" : ""));
        gc_rule_format(child, out);
        buffer_append_bytes(out, bytes_of_text(nested ? ")" : ""));
    }
}

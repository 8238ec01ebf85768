#include "client/cli/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RULE_BYTES_MAX    512   /* the servers take 500 */
#define PATTERN_BYTES_MAX 40960 /* above what a filter may have */

const char *word_value(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

const char *words_repeated(char *const *words, int count)
{
    for (int i = 1; i < count; i++) {
        size_t length = strcspn(words[i], "=");
        for (int j = 0; words[i][length] == '=' && j < i; j++) {
            if (strncmp(words[j], words[i], length + 1) == 0) {
                return words[i];
            }
        }
    }
    return NULL;
}

bool word_i64(const char *text, int64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) {
        return false;
    }
    *ret_number = number;
    return true;
}

bool word_bool(const char *text, bool *ret_value)
{
    *ret_value = strcmp(text, "true") == 0;
    return *ret_value || strcmp(text, "false") == 0;
}

bool word_cell_parse(char *word, struct word_cell *ret_cell)
{
    struct word_cell cell = {.family = word};
    char *colon = strchr(word, ':');
    char *equals = colon != NULL ? strchr(colon, '=') : NULL;
    if (colon == NULL || equals == NULL || colon == word) {
        return false;
    }
    *colon = '\0';
    *equals = '\0';
    cell.column = colon + 1;
    cell.value = equals + 1;
    cell.value_bytes = strlen(cell.value);
    char *at = strrchr(equals + 1, '@');
    if (at != NULL && word_i64(at + 1, &cell.timestamp_us)) {
        cell.has_timestamp = true;
        cell.value_bytes = (size_t)(at - cell.value);
        *at = '\0';
    }
    *ret_cell = cell;
    return true;
}

/* cbt writes || and && where the rule language has words. False: it is too long. */
static bool spell_operators(const char *text, char out[RULE_BYTES_MAX])
{
    size_t used = 0;
    while (*text != '\0' && used + 6 < RULE_BYTES_MAX) {
        if (strncmp(text, "||", 2) == 0 || strncmp(text, "&&", 2) == 0) {
            used += (size_t)snprintf(out + used, RULE_BYTES_MAX - used, "%s",
                                     text[0] == '|' ? " or " : " and ");
            text += 2;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    return *text == '\0';
}

bool word_rule_parse(const char *text,
                     struct edubba_gc_rule **ret_rule,
                     struct edubba_error *ret_error)
{
    char spelled[RULE_BYTES_MAX];
    if (!spell_operators(text[0] != '\0' ? text : "never", spelled)) {
        ret_error->code = EDUBBA_INVALID_ARGUMENT;
        (void)snprintf(ret_error->text, sizeof ret_error->text,
                       "the garbage-collection rule is longer than 500 bytes");
        return false;
    }
    return edubba_gc_rule_parse(spelled, ret_rule, ret_error) == EDUBBA_OK;
}

static const char *const AGGREGATES[] = {"", "intsum", "intmin", "intmax", "inthll", "byteshll"};

const char *aggregate_text(enum edubba_aggregate aggregate)
{
    return AGGREGATES[aggregate];
}

static bool aggregate_parse(const char *text, enum edubba_aggregate *ret_aggregate)
{
    for (int i = EDUBBA_INTSUM; i <= EDUBBA_BYTESHLL; i++) {
        if (strcmp(text, AGGREGATES[i]) == 0) {
            *ret_aggregate = (enum edubba_aggregate)i;
            return true;
        }
    }
    return false;
}

bool word_family_parse(char *word,
                       struct edubba_family *ret_family,
                       struct edubba_gc_rule **ret_rule,
                       struct edubba_error *ret_error)
{
    struct edubba_family family = {.name = word};
    char *rule = strchr(word, ':');
    char *type = rule != NULL ? strchr(rule + 1, ':') : NULL;

    if (rule != NULL) {
        *rule++ = '\0';
    }
    if (type != NULL) {
        *type++ = '\0';
    }
    if (type != NULL && type[0] != '\0' && !aggregate_parse(type, &family.aggregate)) {
        ret_error->code = EDUBBA_INVALID_ARGUMENT;
        (void)snprintf(ret_error->text, sizeof ret_error->text,
                       "'%s' is no type of family: intsum, intmin, intmax, inthll, byteshll", type);
        return false;
    }
    if (!word_rule_parse(rule != NULL ? rule : "", ret_rule, ret_error)) {
        return false;
    }
    family.gc = **ret_rule;
    *ret_family = family;
    return true;
}

char *word_next(char **list)
{
    char *part = *list;
    if (part == NULL || *part == '\0') {
        return NULL;
    }
    char *comma = strchr(part, ',');
    if (comma != NULL) {
        *comma = '\0';
        *list = comma + 1;
    } else {
        *list = NULL;
    }
    return part;
}

/* Quote a text so that as a pattern it matches itself. */
static size_t quote_pattern(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text != '\0' && used + 3 < size; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || *text == '_' || (*text & 0x80) != 0;
        if (!plain) {
            out[used++] = '\\';
        }
        out[used++] = *text;
    }
    out[used] = '\0';
    return used;
}

static struct edubba_filter *column_filter(char *word)
{
    char *colon = strchr(word, ':');
    const char *column = colon != NULL ? colon + 1 : NULL;
    char pattern[PATTERN_BYTES_MAX];

    if (colon == NULL || colon == word) {
        size_t size = quote_pattern(colon == NULL ? word : column, pattern, sizeof pattern);
        return edubba_filter_qualifier_regex(edubba_bytes_of(pattern, size));
    }
    *colon = '\0';
    if (column[0] == '\0') {
        size_t size = quote_pattern(word, pattern, sizeof pattern);
        return edubba_filter_family_regex(edubba_bytes_of(pattern, size));
    }
    struct edubba_bounds bounds = {
        .start = EDUBBA_TEXT(column), .end = EDUBBA_TEXT(column), .end_closed = true};
    return edubba_filter_column_range(word, &bounds);
}

struct edubba_filter *word_columns_filter(char *list, bool *ret_good)
{
    struct edubba_filter *filter = NULL;
    struct edubba_filter **filters = calloc(strlen(list) + 1, sizeof(struct edubba_filter *));
    size_t count = 0; /* fewer than the list has bytes, and one */

    for (char *word = filters != NULL ? word_next(&list) : NULL; word != NULL;
         word = word_next(&list)) {
        filters[count++] = column_filter(word);
    }
    if (count > 0) {
        filter = count == 1 ? filters[0] : edubba_filter_interleave(filters, count);
    }
    free(filters);
    *ret_good = filter != NULL;
    return filter;
}

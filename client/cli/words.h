/*
 * Words of a command line: key=value pairs, cells, families, lists.
 */
#ifndef CLIENT_CLI_WORDS_H
#define CLIENT_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edubba.h"

/* The value if word is "key=value", else NULL. */
const char *word_value(const char *word, const char *key);

/* Of words "key=value" the first whose key an earlier one has too; NULL where there is none. */
const char *words_repeated(char *const *words, int count);

/* All of the text is one number. */
bool word_i64(const char *text, int64_t *ret_number);

/* "true" or "false". */
bool word_bool(const char *text, bool *ret_value);

/* "FAMILY:COLUMN=VALUE[@TIMESTAMP]".  The word is cut in place and owns the texts.  What stands
 * after the last '@' and is no number belongs to the value; a number always is the timestamp. */
struct word_cell {
    const char *family;
    const char *column;
    const char *value;
    size_t value_bytes;
    bool has_timestamp;
    int64_t timestamp_us;
};
bool word_cell_parse(char *word, struct word_cell *ret_cell);

/* "FAMILY[:RULE[:TYPE]]", cut in place.  *ret_rule is to be freed with edubba_gc_rule_free(), and
 * is borrowed by ret_family.  False: ret_error says why. */
bool word_family_parse(char *word,
                       struct edubba_family *ret_family,
                       struct edubba_gc_rule **ret_rule,
                       struct edubba_error *ret_error);

/* "maxage=10d||maxversions=1" and the like -> rule: cbt's shell operators are taken too. */
bool word_rule_parse(const char *text,
                     struct edubba_gc_rule **ret_rule,
                     struct edubba_error *ret_error);

/* The next part of a comma-separated list, cut in place; NULL at its end. */
char *word_next(char **list);

const char *aggregate_text(enum edubba_aggregate aggregate); /* "" for plain */

/* A filter of "FAMILY:COLUMN,FAMILY:,COLUMN,:COLUMN..."; NULL with *ret_good false where the list is bad. */
struct edubba_filter *word_columns_filter(char *list, bool *ret_good);

#endif /* CLIENT_CLI_WORDS_H */

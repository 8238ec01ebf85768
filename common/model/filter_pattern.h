/*
 * A pattern of a filter: a regular expression, or what is left of one when it needs none.
 *
 * Most patterns that clients send are quoted names ("cf\.1") or prefixes ("user\..*").  Those are
 * compared as bytes: faster, without RE2's memory, and with known bounds, so that a read can seek
 * to the columns that they name.  Everything else goes to RE2.
 *
 *   pattern        kind      matches
 *   abc, a\.c      EXACT     the text
 *   abc.*          PREFIX    the text, then anything without \n
 *   abc\C*         PREFIX    the text, then anything
 *   anything else  REGEX
 *
 * Ownership: text is in the arena given; the regex is the pattern's own.  Thread rule: as regex.h.
 */
#ifndef COMMON_MODEL_FILTER_PATTERN_H
#define COMMON_MODEL_FILTER_PATTERN_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/model/regex.h"

enum pattern_kind {
    PATTERN_EXACT,
    PATTERN_PREFIX,
    PATTERN_REGEX,
};

struct pattern {
    enum pattern_kind kind;
    bool any_byte;       /* PREFIX: the rest may hold \n */
    struct bytes text;   /* EXACT, PREFIX */
    struct regex *regex; /* REGEX, else NULL */
};

/* Errors: STATUS_INVALID_ARGUMENT with RE2's reason, STATUS_NO_MEMORY. */
enum status pattern_compile(struct bytes source,
                            size_t memory_limit_bytes,
                            struct arena *arena,
                            struct pattern *ret_pattern,
                            struct error *ret_error);
void pattern_deinit(struct pattern *pattern);

bool pattern_matches(const struct pattern *pattern, struct bytes text);

#endif /* COMMON_MODEL_FILTER_PATTERN_H */

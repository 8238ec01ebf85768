/*
 * Regular expressions with RE2's syntax and guarantees, on raw bytes, full match.
 *
 * The only implementation stands on libre2 (common/io/regex_re2.cc); the model sees this header.
 * Time is linear in the text, memory bounded per pattern: a hostile pattern is refused or merely
 * matched, it can neither hang nor exhaust a server.  '.' excludes \n, \C is any byte, Latin-1.
 *
 * Thread rule: a compiled regex may be matched from several threads at once.
 */
#ifndef COMMON_MODEL_REGEX_H
#define COMMON_MODEL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/bytes.h"
#include "common/base/error.h"

struct regex;

/* memory_limit_bytes bounds the compiled program and its DFA cache.
 * Errors: STATUS_INVALID_ARGUMENT with RE2's reason; STATUS_NO_MEMORY. */
enum status regex_compile(struct bytes pattern,
                          size_t memory_limit_bytes,
                          struct regex **ret_regex,
                          struct error *ret_error);
void regex_destroy(struct regex *regex); /* NULL is fine */

/* Does the whole text match? */
bool regex_matches(const struct regex *regex, struct bytes text);

#endif /* COMMON_MODEL_REGEX_H */

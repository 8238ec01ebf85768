/*
 * A sentence that is put together piece by piece in room of a fixed size, and cut where that is full.
 *
 * Pure; thread rule: the caller's.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_SENTENCE_H
#define CLIENT_LOAD_LAB_CORE_REPORT_SENTENCE_H

#include <stddef.h>

struct lab_sentence {
    char *text;
    size_t room; /* of text, its 0 included */
    size_t size;
    size_t clauses;
};

/* Of nothing yet. */
struct lab_sentence lab_sentence_in(char *text, size_t room);

__attribute__((format(printf, 2, 3))) void lab_say(struct lab_sentence *sentence,
                                                   const char *format,
                                                   ...);

/* "; " between this and what was said before it. */
void lab_begin_clause(struct lab_sentence *sentence);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_SENTENCE_H */

/*
 * A question that the console puts to the catalog: one of its own requests (LOCATE, LIST_TABLES ...), which
 * goes through the loop like everyone's, and is answered there.
 *
 * Thread rule: whoever asks owns it, until the loop has it; then the loop, until it is answered.
 */
#ifndef MASTER_CONSOLE_QUESTION_H
#define MASTER_CONSOLE_QUESTION_H

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/wire/message.h"

struct question {
    enum method method;
    struct buffer body; /* encoded */
    /* On the loop's thread; the question is the asker's again. */
    void (*answered)(struct question *question);
    void *context;
    enum status status;
    struct buffer message;          /* OK: head and body of the answer */
    char text[ERROR_TEXT_SIZE_MAX]; /* else */
};

/* Answer with an error. */
void question_fail(struct question *question, enum status status, const char *text);

#endif /* MASTER_CONSOLE_QUESTION_H */

/*
 * The line of progress on a terminal: shown on stderr, and written over by the next.
 *
 * It is put together piece by piece and cut at the terminal's last column: a line that the terminal breaks
 * can not be written over, and each new one would leave a piece of the one before.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_PROGRESS_H
#define CLIENT_LOAD_PROGRESS_H

#include <stddef.h>

#define LOAD_PROGRESS_CLEAR "\r\033[K" /* takes the line away */
#define LOAD_PROGRESS_BYTES 512

struct load_progress {
    char text[LOAD_PROGRESS_BYTES];
    size_t size;
};

/* Put it behind what there is; what has no room is left out.  ASCII: a byte takes a column. */
__attribute__((format(printf, 2, 3))) void load_progress_add(struct load_progress *progress,
                                                             const char *format,
                                                             ...);

void load_progress_show(const struct load_progress *progress);

#endif /* CLIENT_LOAD_PROGRESS_H */

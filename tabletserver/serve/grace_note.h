/*
 * The grace that is noted in the server's folder (<folder>/GRACE): the longest under which a process of this server
 * may have promised what still binds (docs/replication.md, rule 8).  It lets a setting be lowered:
 *
 *   noted N, set S at a start     what this process waits for    the note
 *   S > N                         N                              S, before anything is promised under it
 *   S == N                        N                              N
 *   S < N                         N                              N, until N is over from this start; then S
 *
 * So a crash at any time leaves a note that is as long as what was promised, or longer.  No file means what builds had
 * that kept none.  One that cannot be read, or is not as it was written, counts as SERVER_GRACE_US_MAX: the
 * server is a minute late to lead once, and safe, where a refusal would end with somebody removing the file.
 *
 * Thread rule: one owner.
 */
#ifndef TABLETSERVER_SERVE_GRACE_NOTE_H
#define TABLETSERVER_SERVE_GRACE_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/io/file.h"

struct grace_note {
    char path[FILE_PATH_SIZE_MAX];
    int64_t former_ns;   /* what processes before this one may have promised under */
    int64_t noted_ns;    /* as the file has it */
    int64_t set_ns;      /* of this process */
    int64_t outlived_ns; /* from then on nothing that they promised holds */
    bool complained;
};

/* Read, and raise what is noted if it is lower.  The folder is there; set_ns is above 0; now_ns is CLOCK_BOOTTIME.
 * Errors, of raising it: those of file.h, saying what to do. */
enum status grace_note_open(const char *folder,
                            int64_t set_ns,
                            int64_t now_ns,
                            struct grace_note *ret_note,
                            struct error *ret_error);

/* Lower what is noted when it is time.  What cannot be written is logged once, and tried again with the next call. */
void grace_note_settle(struct grace_note *note, int64_t now_ns);

#endif /* TABLETSERVER_SERVE_GRACE_NOTE_H */

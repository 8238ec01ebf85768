/*
 * Writes the journals of undo.h.  For shim_disk: the functions are called around the real calls, by any
 * thread.  What cannot be noted ends the process with a line on stderr: a journal with a gap would roll
 * back into something that never was.
 */
#ifndef TESTS_CLUSTER_FAULTS_UNDO_JOURNAL_H
#define TESTS_CLUSTER_FAULTS_UNDO_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "undo.h"

/* Notes what goes to files below `data`, in folder `journals`, which is there.  Picks up what an earlier
 * process has left.  Once, before all others. */
void undo_journal_open(const char *data, const char *journals);

struct undo_file;

/* The file of a descriptor, locked until undo_file_release(); NULL: none that is noted. */
struct undo_file *undo_file_take(int descriptor);
void undo_file_release(struct undo_file *file);

/* About to change so many bytes from offset on, or, with size_bytes 0, to cut the file at offset. */
void undo_note_change(struct undo_file *file, int descriptor, off_t offset, uint64_t size_bytes);
/* The change just noted is durable by itself (O_DSYNC), and the file's size. */
void undo_forget_last(struct undo_file *file, int descriptor);

/* Before and after a sync of a file that succeeded: what was noted before it is forgotten. */
struct undo_mark {
    uint64_t end;
    uint64_t epoch;
};
struct undo_mark undo_sync_begin(int descriptor);
void undo_sync_end(int descriptor, struct undo_mark mark);

/* Names.  The first two before the call, as they keep what is lost by it; `created` after it. */
void undo_note_rename(const char *from, const char *to);
void undo_note_unlink(const char *path);
void undo_note_created(const char *path);
/* A folder was synced. */
void undo_folder_synced(int descriptor);

#endif

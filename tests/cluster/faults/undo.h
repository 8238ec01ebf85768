/*
 * What a power cut may take away: a journal of unsynced changes, written by shim_disk and rolled back
 * by power_cut.  One folder of journals belongs to one process and its successors.
 *
 * CONTENT.  `<inode>.undo` holds, for one file, the bytes that each change since its last sync has
 * overwritten: a header, then records in the order of the changes.  A record is in the page cache
 * before its change is, so that `kill -9` between the two leaves at most an undo of nothing.  A
 * record that is not whole is the last one, and its change was never made.
 *
 * NAMES.  `names.undo` holds changes of folders (struct undo_name) that no sync of their folder has
 * made durable; what a rename or unlink takes away stays as a hard link `kept-<number>`.
 *
 * Differs from a disk: sectors are never garbled, only old; an error of a sync loses nothing of itself.
 */
#ifndef TESTS_CLUSTER_FAULTS_UNDO_H
#define TESTS_CLUSTER_FAULTS_UNDO_H

#include <stdint.h>

#define UNDO_MAGIC        UINT64_C(0x6f646e752d627565)
#define UNDO_SECTOR_BYTES 512
#define UNDO_PATH_BYTES   512

/* Records before `begin` are durable. */
struct undo_header {
    uint64_t magic;
    uint64_t begin;           /* an offset in this file */
    uint64_t file_size_bytes; /* what a synchronous write has made durable: not shorter than this */
};

/* Then the old bytes.  They are fewer than `size_bytes` where the file ended before; what lies behind
 * them was not there, or zeros. */
struct undo_change {
    uint64_t offset;
    uint64_t size_bytes;      /* changed from offset on */
    uint64_t old_bytes;       /* saved */
    uint64_t file_size_bytes; /* before */
};

enum undo_name_kind {
    UNDO_CREATED = 1, /* file or folder `path` */
    UNDO_RENAMED = 2, /* `from` to `path`; what was at `path`: kept */
    UNDO_REMOVED = 3, /* `path`: kept */
};

struct undo_name {
    uint64_t kind;
    uint64_t kept;    /* number of the link, 0 = none */
    uint64_t durable; /* not 0: its folder was synced afterwards */
    char path[UNDO_PATH_BYTES];
    char from[UNDO_PATH_BYTES];
};

_Static_assert(sizeof(struct undo_header) == 24, "no padding");
_Static_assert(sizeof(struct undo_change) == 32, "no padding");
_Static_assert(sizeof(struct undo_name) == 24 + 2 * UNDO_PATH_BYTES, "no padding");

#endif

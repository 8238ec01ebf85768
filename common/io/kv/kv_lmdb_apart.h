/*
 * LMDB's table of readers in memory instead of beside data.mdb.
 *
 * Whoever begins a read writes to that table, through memory.  Where it is a file on the same disk, and the disk hangs,
 * so does that write, and with it every thread that only wants to look into what is in memory anyway; the threads that
 * are to notice that the disk hangs among them.  Files of a tmpfs have no disk.
 *
 * LMDB lets nobody say where the table is to be, only that it is beside the data.  So the data gets a second name beside
 * the table's place: a link, in a folder of its own in /dev/shm, which goes as soon as LMDB has opened both.
 *
 * Who looks at data.mdb with LMDB's tools meanwhile does not see the readers of this process, nor it them: nothing is
 * harmed, but what they show may be half overwritten.
 */
#ifndef COMMON_IO_KV_KV_LMDB_APART_H
#define COMMON_IO_KV_KV_LMDB_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define KV_LMDB_APART_PATH_BYTES 64

struct kv_lmdb_apart {
    char folder[KV_LMDB_APART_PATH_BYTES];
    char data[KV_LMDB_APART_PATH_BYTES];    /* the link: what LMDB is to open, with MDB_NOSUBDIR */
    char readers[KV_LMDB_APART_PATH_BYTES]; /* where it puts the table then */
};

/* The link to data.mdb in folder, which need not be there yet, and room for the table.  False: there is no such place
 * here, and nothing is left. */
bool kv_lmdb_apart_make(const char *folder,
                        uint32_t readers_max,
                        mode_t mode,
                        struct kv_lmdb_apart *ret_apart);

/* Once they are opened. */
void kv_lmdb_apart_remove(const struct kv_lmdb_apart *apart);

#endif /* COMMON_IO_KV_KV_LMDB_APART_H */

/*
 * A file in which the console keeps something across restarts: an LMDB file of its own in the master's folder.
 *
 *   "format"   the format's version (8), big-endian
 *   "cluster"  whose it is: the cluster's number (8), big-endian, and the etcd.prefix under which its catalog is
 *              (nothing: embedded).  Files of older versions have none until they are opened
 *   the rest   as its owner says
 *
 * It is a convenience: a file that is of another format or damaged is moved aside as damaged-N.mdb, one of another
 * cluster, whose tables have the same numbers, as other-N.mdb, with a warning, and begun anew; one that another process
 * has is left alone, and nothing is kept.  Nothing here keeps a master from starting.
 *
 * Thread rule: one owner.
 */
#ifndef MASTER_CONSOLE_CONSOLE_FILE_H
#define MASTER_CONSOLE_CONSOLE_FILE_H

#include "common/io/kv/kv.h"

/* Of which cluster a master is. */
struct console_owner {
    uint64_t cluster;
    const char *prefix; /* of its catalog in etcd; "" = embedded */
};

struct console_file {
    struct kv *kv;
    int lock;
};

/* folder/name.  False: nothing is kept, and the log says why. */
bool console_file_open(const char *folder,
                       const char *name,
                       const struct console_owner *owner,
                       struct console_file *ret_file);
void console_file_close(struct console_file *file); /* of one that was opened */

/* Is it a key that is not its owner's? */
bool console_file_has_own(struct bytes key);

#endif /* MASTER_CONSOLE_CONSOLE_FILE_H */

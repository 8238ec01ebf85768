/*
 * A file in which the console keeps something across restarts: an LMDB file of its own in the master's folder.
 *
 *   the key "format" holds the format's version; what else there is, its owner says
 *
 * It is a convenience: a file that is of another format or damaged is moved aside as damaged-N.mdb, with
 * a warning, and begun anew; one that another process has is left alone, and nothing
 * is kept.  Nothing here keeps a master from starting.
 *
 * Thread rule: one owner.
 */
#ifndef MASTER_CONSOLE_CONSOLE_FILE_H
#define MASTER_CONSOLE_CONSOLE_FILE_H

#include "common/io/kv/kv.h"

#define CONSOLE_FILE_FORMAT_KEY "format"

struct console_file {
    struct kv *kv;
    int lock;
};

/* folder/name.  False: nothing is kept, and the log says why. */
bool console_file_open(const char *folder, const char *name, struct console_file *ret_file);
void console_file_close(struct console_file *file); /* of one that was opened */

#endif /* MASTER_CONSOLE_CONSOLE_FILE_H */

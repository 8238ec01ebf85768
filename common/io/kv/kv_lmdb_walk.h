/*
 * Does a file of LMDB's make sense?  LMDB believes its pages: what it meets in one that was harmed ends the process, by
 * abort(), SIGBUS or SIGSEGV.  So who can do without the file looks first.
 *
 * Looked at is all that LMDB goes by, of the newest state of the file: page numbers, the pages' own heads, nodes and their
 * sizes, the order of keys, the list of free pages; and that no page is used twice.  Values may be anything.
 *
 * Thread rule: nobody else may have the file open for writing.
 */
#ifndef COMMON_IO_KV_KV_LMDB_WALK_H
#define COMMON_IO_KV_KV_LMDB_WALK_H

#include "common/base/error.h"

/* Of <folder>/data.mdb; that there is none, or an empty one, is fine.  Errors: STATUS_CORRUPT, with a text that names file
 * and page; STATUS_NO_MEMORY; file.h's. */
enum status kv_lmdb_walk(const char *folder, struct error *ret_error);

#endif /* COMMON_IO_KV_KV_LMDB_WALK_H */

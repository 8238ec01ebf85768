/*
 * Room for lock.mdb, LMDB's table of readers.
 *
 * LMDB makes that file by its length alone and writes to it through memory.  So a page of it that has no place on
 * the disk yet, where the disk is full, ends the process with SIGBUS and without a word: at a first start, or later,
 * when more readers are there at once than ever before.  Here it gets its place before LMDB opens it.
 *
 * Thread rule: before the environment is opened, for LMDB's locks on the file go with any descriptor of it that is
 * closed.
 */
#ifndef COMMON_IO_KV_KV_LMDB_READERS_H
#define COMMON_IO_KV_KV_LMDB_READERS_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

/*
 * The file is there when this has succeeded, and what it has stays.  On a disk that has no room for all of it, its
 * first page has a place: as many readers as most processes ever have at once.  Errors, with a text that names the file:
 * those of file.h.
 */
enum status kv_lmdb_place_readers(const char *folder,
                                  uint32_t readers_max,
                                  mode_t mode,
                                  struct error *ret_error);

/* The same for the file of that name.  0 or an errno. */
int kv_lmdb_place_readers_at(const char *path, uint32_t readers_max, mode_t mode);

#endif /* COMMON_IO_KV_KV_LMDB_READERS_H */

/*
 * What LMDB does not tell by itself.
 *
 * A file cut short would end the process with SIGBUS where it is read.  LMDB does not write pages
 * that the transaction that took them gave back, so what is missing at the end may be free pages,
 * and nothing else.  While the free list is read, the file is as long as it should be: zeros are
 * no page.
 *
 * Who opens a pipe waits for its other end, and a device takes what is written and gives back what it likes.  So
 * nothing but a file is opened as one.
 *
 * Thread rule: a transaction is its thread's; the length is checked before anyone else has the
 * environment.
 */
#ifndef COMMON_IO_KV_KV_LMDB_CHECK_H
#define COMMON_IO_KV_KV_LMDB_CHECK_H

#include <lmdb.h>
#include <stdint.h>

#include "common/base/error.h"

/* Are data.mdb and lock.mdb of this folder files, as far as they are there?  Errors: STATUS_FAILED_PRECONDITION, with
 * a text that names what is none; STATUS_LIMIT. */
enum status kv_lmdb_check_kinds(const char *folder, struct error *ret_error);

/* Pages on the free list; *ret_reusable: those among them that no reader sees any more, so that the
 * next write transaction may take them. */
uint64_t kv_lmdb_count_free_pages(MDB_txn *txn, uint64_t *ret_reusable);

/* Of an environment that was just opened.  Returns 0, MDB_CORRUPTED (the file was cut short; it is
 * left as it was), or another of LMDB's or the system's codes. */
int kv_lmdb_check_length(MDB_env *env);

#endif /* COMMON_IO_KV_KV_LMDB_CHECK_H */

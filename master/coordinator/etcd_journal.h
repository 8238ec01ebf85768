/*
 * Commits to etcd, each all or nothing, however large, whatever is lost on the way.
 *
 * THE STEP.  Everything is written by one kind of transaction:
 *
 *     if   leader was created at REIGN, and mark is what it was after the step before
 *     then do up to 127 things, and put the next mark
 *     else read leader and mark
 *
 *   (1) A step takes effect once at most, in its turn, and in its reign: a copy of it that arrives late
 *       finds another mark or another leader.  So a step whose answer was lost is simply asked again,
 *       and when it then fails, the mark tells whether the first copy was carried out.
 *   (2) Who has lost the leadership can carry out no step.  There is no moment between looking and
 *       writing in which that could happen.
 *
 * A COMMIT that one step can hold (127 records, 1 MiB) is one step.  A larger one:
 *
 *     stage    pieces of its parcel into stage/, a step each; the mark stays as it is
 *     switch   the mark names the parcel: from here on it is committed
 *     roll     the parcel's puts into record/, a step a batch; the mark counts them
 *     clean    stage/ is emptied, the mark names no parcel
 *
 * Nobody reads record/ while a parcel is named: a reign begins with rolling on what it finds.  What
 * lies in stage/ without being named was never committed, and is overwritten.
 *
 * etcd's defaults are 128 operations a transaction and 1.5 MiB a request.  They are settings of
 * etcd, but of all of its members, and a limit that was raised is still one.
 *
 * Thread rule: one owner at a time.
 */
#ifndef MASTER_COORDINATOR_ETCD_JOURNAL_H
#define MASTER_COORDINATOR_ETCD_JOURNAL_H

#include "master/coordinator/etcd_client.h"
#include "master/coordinator/etcd_keys.h"
#include "master/coordinator/etcd_parcel.h"

#define ETCD_STEP_PUTS_MAX    127
#define ETCD_STEP_BYTES_MAX   (1U << 20) /* keys and values of a step */
#define ETCD_RECORD_BYTES_MAX ETCD_STEP_BYTES_MAX

struct etcd_journal;

/*
 * Read the mark, and roll on what an earlier reign has left.  client and keys are borrowed.
 * Errors: STATUS_ABORTED (this reign is over), STATUS_UNAVAILABLE, STATUS_CANCELLED, STATUS_CORRUPT,
 * STATUS_VERSION, STATUS_NO_MEMORY, and STATUS_IO for anything else.
 */
enum status etcd_journal_open(struct etcd_client *client,
                              const struct etcd_keys *keys,
                              uint64_t reign,
                              struct etcd_journal **ret_journal,
                              struct error *ret_error);
void etcd_journal_close(struct etcd_journal *journal); /* NULL is fine */

/*
 * As coordinator_commit(); and STATUS_ABORTED: this reign is over, and nothing more can be committed
 * in it.
 */
enum status etcd_journal_commit(struct etcd_journal *journal,
                                const struct catalog_put *puts,
                                size_t put_count,
                                struct error *ret_error);

#endif /* MASTER_COORDINATOR_ETCD_JOURNAL_H */

/*
 * The master's shell: everything around the catalog that touches the world.
 *
 *   nng threads --- requests ---> [ mailbox ] ---> the loop: the reign's catalog_step, effects
 *   committer  --- committed --->                     |            |
 *   elector    --- woken ------->              committer_start   transport_reply_send
 *   signals    --- stop -------->
 *
 * With the embedded coordinator it is the active master as long as it lives.  On etcd it is while it is
 * elected; else it stands by, and answers everything with where the active one is.
 *
 * The loop thread alone touches the catalog.  Nothing waits for it but the mailbox, which is
 * bounded: above, requests are refused as UNAVAILABLE before they are looked at.
 */
#ifndef MASTER_SHELL_MASTER_H
#define MASTER_SHELL_MASTER_H

#include "common/base/error.h"
#include "master/shell/settings.h"

struct master;

/*
 * Lock the folder and load the catalog, or stand for election; listen.  settings is borrowed until close.
 * Errors: those of the folder's lock, the coordinator, the catalog, the listener and the HTTP
 * server; each names its thing.
 */
enum status master_open(const struct master_settings *settings,
                        struct master **ret_master,
                        struct error *ret_error);

/* Where it can be reached, "address=... http=...", for daemon_ready(). */
void master_describe(const struct master *master, char *text, size_t text_size);

/* Serve until master_stop().  Errors: STATUS_IO: the embedded catalog could not be written, and whether
 * it was is unknown: end the process.  On etcd: a catalog that is damaged, of another cluster or newer. */
enum status master_run(struct master *master, struct error *ret_error);

/* Any thread. */
void master_stop(struct master *master);

/* Refuse what is not answered, close everything.  NULL is fine. */
void master_close(struct master *master);

#endif /* MASTER_SHELL_MASTER_H */

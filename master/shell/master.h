/*
 * The master's shell: everything around the catalog that touches the world.
 *
 *   nng threads --- requests ---> [ mailbox ] ---> the loop: catalog_step, effects performed
 *   committer  --- committed --->                     |            |
 *   signals    --- stop -------->              committer_start   transport_reply_send
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
 * Lock the folder, load the catalog, listen.  settings is borrowed until close.
 * Errors: those of the folder's lock, the coordinator, the catalog, the listener and the HTTP
 * server; each names its thing.
 */
enum status master_open(const struct master_settings *settings,
                        struct master **ret_master,
                        struct error *ret_error);

/* Where it can be reached, "address=... http=...", for daemon_ready(). */
void master_describe(const struct master *master, char *text, size_t text_size);

/* Serve until master_stop().  Errors: STATUS_IO: the catalog could not be written, and whether it
 * was is unknown: end the process. */
enum status master_run(struct master *master, struct error *ret_error);

/* Any thread. */
void master_stop(struct master *master);

/* Refuse what is not answered, close everything.  NULL is fine. */
void master_close(struct master *master);

#endif /* MASTER_SHELL_MASTER_H */

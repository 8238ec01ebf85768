/*
 * A client of etcd: one question at a time, to whichever of its members answers.
 *
 * Questions go by HTTP to the JSON gateway.  A member that cannot be reached, does not answer in time
 * or says that it cannot now is left for the next; after a round of all of them comes a pause.  So a
 * question may be asked more than once, also when an earlier copy of it was carried out and only the
 * answer was lost: whoever asks asks such that twice does no harm (etcd_journal.h).
 *
 * With https:// the server's certificate and name are checked against `ca`, and `certificate` and
 * `key` are shown to it.  No proxies, no redirects.
 *
 * Thread rule: one owner at a time; etcd_client_cancel() from any thread.
 */
#ifndef MASTER_COORDINATOR_ETCD_CLIENT_H
#define MASTER_COORDINATOR_ETCD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

#define ETCD_ENDPOINTS_MAX      16
#define ETCD_ENDPOINT_BYTES_MAX 255
#define ETCD_ANSWER_BYTES_MAX   (UINT64_C(64) << 20)

struct etcd_settings {
    const char *endpoints;   /* "https://a:2379,https://b:2379"; commas or blanks between */
    const char *prefix;      /* of all keys: "/edubba" */
    const char *ca;          /* PEM files; "" = the system's */
    const char *certificate; /* "" = none is shown; else with key */
    const char *key;
    int64_t lease_us; /* how long a master that is not heard of goes on leading; whole seconds */
};

/* Is the list of endpoints one?  insecure: also plain http:// to other machines.
 * Errors: STATUS_INVALID_ARGUMENT, STATUS_FAILED_PRECONDITION; names the endpoint. */
enum status etcd_endpoints_check(const char *endpoints, bool insecure, struct error *ret_error);

struct etcd_client;

/* settings are borrowed.  Nothing is dialled yet.
 * Errors: as etcd_endpoints_check() with insecure; STATUS_NO_MEMORY; STATUS_INVALID_ARGUMENT (a file
 * of TLS that cannot be read). */
enum status etcd_client_open(const struct etcd_settings *settings,
                             struct etcd_client **ret_client,
                             struct error *ret_error);
void etcd_client_close(struct etcd_client *client); /* NULL is fine */

/* How long one member may take, and all of them together. */
struct etcd_patience {
    uint32_t attempt_ms;
    uint32_t total_ms;
};

/*
 * Ask, at path ("/v3/kv/txn").  *ret_answer is emptied and filled; the caller's to free.
 * *ret_in_doubt: a copy of it whose answer is not known may have been carried out, or yet be.
 * Errors: those of etcd_refusal_decode(), but STATUS_UNAVAILABLE only when patience is at its end;
 * STATUS_LIMIT, too, for an answer of more than ETCD_ANSWER_BYTES_MAX; STATUS_CANCELLED; STATUS_NO_MEMORY.
 */
enum status etcd_client_ask(struct etcd_client *client,
                            const char *path,
                            const struct buffer *question,
                            const struct etcd_patience *patience,
                            struct buffer *ret_answer,
                            bool *ret_in_doubt,
                            struct error *ret_error);

/* The one of the endpoints that answered last, or is next; and where to begin instead of at the first of them: at one
 * that another client has found to answer.  A member that is gone takes long to be passed over. */
uint32_t etcd_client_endpoint(const struct etcd_client *client);
void etcd_client_begin_at(struct etcd_client *client, uint32_t endpoint);

/* The question that is out, and all later ones, end with STATUS_CANCELLED, within a second. */
void etcd_client_cancel(struct etcd_client *client);

#endif /* MASTER_COORDINATOR_ETCD_CLIENT_H */

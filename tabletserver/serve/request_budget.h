/*
 * The budget for requests: what all that are under way may hold of memory (request_bytes_max), so that clients who
 * ask for much are told to come back, and the server does not run out.
 *
 * A request is charged before its memory is taken: its body and REQUEST_BYTES_OWN when it comes, what it is decoded
 * into when that is known, what an evaluation finds out as it grows. Who charges releases as much, once the memory
 * is free again; the budget itself holds none.
 *
 * Of it reads may have half, so that they cannot keep writes out: scans wait for their client as long as it likes,
 * and reads for a worker.
 *
 * Thread rule: any thread, but for init.  Two that charge at once may both be refused where one would have fitted.
 */
#ifndef TABLETSERVER_SERVE_REQUEST_BUDGET_H
#define TABLETSERVER_SERVE_REQUEST_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a request takes at least besides its body and what it is decoded into: many small ones may
 * wait, scans as long as their client likes. */
#define REQUEST_BYTES_OWN 3072

struct request_budget {
    uint64_t bytes_max;              /* constant */
    atomic_uint_fast64_t bytes;      /* charged */
    atomic_uint_fast64_t read_bytes; /* of these: noted as reads' */
};

void request_budget_init(struct request_budget *budget, uint64_t bytes_max);

/* What is charged at this moment. */
uint64_t request_budget_bytes(const struct request_budget *budget);

/* False = over the budget, and nothing was charged.  own_bytes: what the request has been charged
 * before.  One of more than half of the budget is let in beside others that leave it the other half,
 * however large it is: among many small ones it would wait for ever until it is alone. */
bool request_budget_charge(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes);
void request_budget_release(struct request_budget *budget, uint64_t bytes);

/* Is half of it in use, or of the reads' half?  Then a connection gets in one request after the
 * other: who sends many would have most of them refused, and sends on while they are. */
bool request_budget_is_short(const struct request_budget *budget);

/* What is charged already turns out to be a read's; own_bytes: what was noted of it before.  False = over the
 * reads' half, and nothing was noted.  Forget it before, or after, it is released. */
bool request_budget_note_reads(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes);
void request_budget_forget_reads(struct request_budget *budget, uint64_t bytes);

/* Both in one: nothing has changed where one of them refuses. */
bool request_budget_charge_reads(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes);
void request_budget_release_reads(struct request_budget *budget, uint64_t bytes);

#endif /* TABLETSERVER_SERVE_REQUEST_BUDGET_H */

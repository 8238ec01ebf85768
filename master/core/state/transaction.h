/*
 * A catalog transaction: changes staged apart from committed state, made durable as one, applied.
 *
 *   transaction_begin -> put.. remove.. -> transaction_seal --- PERSISTED -----> transaction_apply
 *                                                          \-- PERSIST_FAILED -> transaction_abandon
 *
 * Staging that runs out of memory marks the transaction failed; seal reports it.  Sealing reserves
 * all that applying needs, so applying cannot fail.  Every object it touches is stamped with the
 * transaction's version, the committed one plus 1.
 */
#ifndef MASTER_CORE_STATE_TRANSACTION_H
#define MASTER_CORE_STATE_TRANSACTION_H

#include "master/core/state/catalog_state.h"

enum staged_kind {
    STAGED_ADD_TABLET,
    STAGED_UPDATE_TABLET,
    STAGED_REMOVE_TABLET, /* replaced by its heirs */
    STAGED_ADD_TABLE,
    STAGED_UPDATE_TABLE,
    STAGED_REMOVE_TABLE, /* with all its tablets */
    STAGED_PUT_SERVER,
    STAGED_PUT_DOCUMENT,
    STAGED_REMOVE_DOCUMENT,
};

struct staged {
    enum staged_kind kind;
    uint64_t number;
    struct tablet *tablet;           /* ADD_TABLET */
    struct tablet_record record;     /* UPDATE_TABLET; its range is the tablet's own */
    uint8_t *row;                    /* UPDATE_TABLET: bytes of its goal's row; NULL = none */
    struct table_entry *entry;       /* ADD_TABLE */
    struct table_image *table;       /* UPDATE_TABLE */
    struct server_image *server;     /* PUT_SERVER */
    struct gone *gone;               /* REMOVE_TABLET, REMOVE_TABLE */
    struct document_entry *document; /* PUT_DOCUMENT */
    struct bytes document_name;      /* REMOVE_DOCUMENT: in the transaction's arena */
};

struct transaction {
    uint64_t number;
    bool failed;
    uint64_t batch;                  /* told from all others of this process */
    struct open_request *request;    /* on whose behalf; NULL = the planner's, or of: */
    struct list proposals;           /* struct open_request: PROPOSE, answered together */
    struct counters_record counters; /* after it */
    struct arena arena;              /* puts and their bytes */
    struct staged *changes;
    size_t change_count;
    size_t change_capacity;
    struct catalog_put *puts;
    size_t put_count;
    size_t put_capacity;
};

/* Requires: none is pending.  NULL without memory. */
struct transaction *transaction_begin(struct catalog *catalog, struct open_request *request);

/* New numbers. */
uint64_t transaction_next_table(struct transaction *transaction);
uint64_t transaction_next_tablet(struct transaction *transaction);

/* Numbers for documents that it makes: the first one, and those behind it.  Its version becomes
 * the last one, so this comes before anything is staged. */
uint64_t transaction_next_documents(struct transaction *transaction, size_t count);

/* changed_version of what is put is set here. */
void transaction_add_tablet(struct transaction *transaction, const struct tablet_record *record);
/* One change of a tablet at most in a transaction. */
void transaction_update_tablet(struct transaction *transaction,
                               struct tablet *tablet,
                               const struct tablet_record *record);
/* Replaced by its heirs, which are added after it. */
void transaction_remove_tablet(struct transaction *transaction,
                               struct tablet *tablet,
                               const struct tablet_heirs *heirs);

/* Is the tablet changed by it already? */
static inline bool transaction_has(const struct transaction *transaction,
                                   const struct tablet *tablet)
{
    return tablet->batch == transaction->batch;
}

void transaction_add_table(struct transaction *transaction,
                           const struct table *table,
                           size_t tablet_count);
void transaction_update_table(struct transaction *transaction, const struct table *table);
void transaction_remove_table(struct transaction *transaction, const struct table_entry *entry);
void transaction_put_server(struct transaction *transaction, const struct server_record *record);
void transaction_put_document(struct transaction *transaction,
                              const struct document_record *record);
void transaction_remove_document(struct transaction *transaction,
                                 const struct document_entry *entry);

/* Make it the pending one and emit PERSIST.  On error (STATUS_NO_MEMORY) nothing has changed and it
 * is still the caller's, to be destroyed. */
enum status transaction_seal(struct catalog *catalog, struct transaction *transaction);

/* Of the pending one; it is gone after it. */
void transaction_apply(struct catalog *catalog);
void transaction_abandon(struct catalog *catalog);

/* Of one that is not sealed. */
void transaction_destroy(struct transaction *transaction);

#endif /* MASTER_CORE_STATE_TRANSACTION_H */

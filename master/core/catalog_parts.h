/*
 * What the parts of the catalog ask of one another: each by the file that has it.
 *
 * Nobody outside of master/core includes this.  Thread rule: the catalog's (catalog.h).
 */
#ifndef MASTER_CORE_CATALOG_PARTS_H
#define MASTER_CORE_CATALOG_PARTS_H

#include "master/core/catalog_state.h"

/* --- effects (catalog_effects.c) -------------------------------------------------------------- */

/* Room for every reply that the step could give.  Errors: STATUS_NO_MEMORY. */
enum status effects_reserve(struct catalog *catalog);
void emit_persist(struct catalog *catalog, const struct transaction *transaction);
void emit_error(struct catalog *catalog, uint64_t request, const struct error *error);
/* message: what effects_begin_message() began; taken over. */
void emit_reply(struct catalog *catalog, uint64_t request, struct buffer *message);
void emit_note(struct catalog *catalog, const struct catalog_note *note, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* At most once a step; taken over. */
void emit_load(struct catalog *catalog, struct located_report *load);
/* An empty answer with an OK head, for the method's body to be appended. */
struct buffer effects_begin_message(void);

/* --- requests, reports, what follows -------------------------------------------------------------- */

/* catalog_read.c: answers at once from committed state. */
void read_locate(struct catalog *catalog, uint64_t request, const struct locate_request *locate);
void read_get_table(struct catalog *catalog,
                    uint64_t request,
                    const struct table_name_request *name);
void read_list_tables(struct catalog *catalog, uint64_t request);
void read_list_servers(struct catalog *catalog, uint64_t request);
struct location read_location(struct catalog *catalog,
                              const struct tablet *tablet,
                              bool for_server);
struct table_response read_table_response(const struct table_entry *entry);

/* catalog_change.c: begin the transaction of a request whose turn it is; true if one is pending
 * now.  Else the request has been answered and freed. */
bool change_begin(struct catalog *catalog, struct open_request *request);
/* Its transaction is durable: answer, or wait on. */
void change_committed(struct catalog *catalog, struct open_request *request);
/* It is known not to be: answer. */
void change_failed(struct catalog *catalog, struct open_request *request, const struct error *why);

/* A proposal being judged, and what it is about. */
struct judged {
    const struct proposal *proposal;
    struct tablet *tablet; /* of the version that the proposal is based on */
    struct tablet *right;  /* the same, where it is a merge */
    struct replica_member proposer;
};

/* catalog_judge.c: why it may not be taken; NULL = it may. */
const char *judge_proposal(const struct catalog *catalog, const struct judged *judged);

/* catalog_propose.c: judge the proposals that wait, as many as fit one transaction: it is pending now,
 * or they have been answered. */
void propose_begin(struct catalog *catalog);
/* Their transaction is durable, or known not to be: answer. */
void propose_committed(struct catalog *catalog, struct list *proposals);
void propose_failed(struct catalog *catalog, struct list *proposals, const struct error *why);

/* catalog_goal.c: change goals whose time has come, as far as the transaction has room. */
void goal_plan(struct catalog *catalog, struct transaction *transaction);
/* When goals must be looked at next; CATALOG_NEVER: no server looks at them. */
int64_t goal_deadline_ns(const struct catalog *catalog);

/* catalog_goal_beside.c: may a copy be removed of each tablet of the table, before another is taught? */
bool goal_spares_copy(const struct table *table);

/* NULL, and the error set, when there is none. */
struct table_entry *change_find_table(const struct catalog *catalog,
                                      struct bytes name,
                                      struct error *ret_error);

/* catalog_order.c: what people order for servers and tablets.  As document_stage(). */
/* Copies that a server is to give away and cannot: no other server has room for them that has none of their
 * tablet already, or the server itself does not replicate.  Asked of a few servers: those that drain. */
uint32_t order_count_stuck(struct catalog *catalog, const struct server *leaving);
enum status order_stage_drain(struct catalog *catalog,
                              struct transaction *transaction,
                              struct open_request *request,
                              bool *ret_staged,
                              struct error *ret_error);
enum status order_stage_merge(struct catalog *catalog,
                              struct transaction *transaction,
                              struct open_request *request,
                              bool *ret_staged,
                              struct error *ret_error);
/* Do the copies of two neighbours lie so that they cannot be merged, however long one waits? */
bool order_are_apart(const struct catalog *catalog,
                     const struct tablet *left,
                     const struct tablet *right);
/* Of two whose goals are to merge each other: from this transaction on no merge of them is taken. */
void order_withdraw_merge(struct catalog *catalog,
                          struct transaction *transaction,
                          struct tablet *left,
                          struct tablet *right);
/* The same of two neighbours.  Errors: they cannot be merged now. */
enum status order_merge(struct catalog *catalog,
                        struct transaction *transaction,
                        struct tablet *left,
                        struct tablet *right,
                        struct error *ret_error);

/* catalog_recover.c: tablets whose members are all lost.  As document_stage(); and what there is. */
enum status recover_stage(struct catalog *catalog,
                          struct transaction *transaction,
                          struct open_request *request,
                          bool *ret_staged,
                          struct error *ret_error);
enum status recover_read(struct catalog *catalog,
                         uint64_t request,
                         const struct recover_request *recover,
                         struct error *ret_error);
/* catalog_copies.c: which copies servers have.  A full report comes: what it names is kept. */
void copies_take_report(struct server *server, const struct sync_request *sync);
/* Did the server's last full report name that copy?  False, too, where it could not be kept for want of memory. */
bool copies_has(struct server *server, uint64_t tablet, uint64_t store);
/* All that are held, and members that no server has told of; the best first, in the scratch arena.  NULL without
 * memory. */
struct found_copy *copies_find(struct catalog *catalog,
                               const struct tablet *tablet,
                               size_t *ret_count);
/* Could the tablet go on with it: is it there, on a server that lives, with anything in it? */
bool copies_is_usable(const struct found_copy *copy);

/* catalog_document.c.  Check a PUT_DOCUMENTS and stage it; *ret_staged false: there is nothing to
 * write, and the answer says why.  Errors: the request's. */
enum status document_stage(struct catalog *catalog,
                           struct transaction *transaction,
                           struct open_request *request,
                           bool *ret_staged,
                           struct error *ret_error);
void read_list_documents(struct catalog *catalog,
                         uint64_t request,
                         const struct list_documents_request *list);

/* catalog_hot.c */
void hot_take(struct catalog *catalog, struct server *server, const struct sync_request *sync);
/* Where the load of a tablet that is being made was told to be, in the one that it is made of: known on. */
void hot_inherit(struct catalog *catalog, const struct tablet_record *made);
void read_list_hot_tablets(struct catalog *catalog,
                           uint64_t request,
                           const struct list_hot_tablets_request *list);

/* catalog_hot_keys.c */
void read_list_hot_keys(struct catalog *catalog,
                        uint64_t request,
                        const struct list_hot_keys_request *list);
void read_advise(struct catalog *catalog, uint64_t request, const struct advise_request *ask);
/* What is to be said of the table's keys; in the scratch arena.  Errors: STATUS_NO_MEMORY. */
enum status hot_advise(struct catalog *catalog,
                       const struct table_entry *table,
                       struct advise_response *ret_response);
/* catalog_balance.c: what is done about load (docs/hotspots.md).  A report that counts: */
void balance_take(struct catalog *catalog, struct server *server, const struct load_report *report);
/* Look at all tablets, if it is time to, and make orders of what is decided. */
void balance_decide(struct catalog *catalog);
int64_t balance_deadline_ns(const struct catalog *catalog);
/* A split by size is being staged: it is an event like others, and is looked after until it is done. */
void balance_note_size(struct catalog *catalog, const struct tablet *tablet, struct bytes row);
/* What is known of the load of a tablet that is being made goes over to it from those that it is made of. */
void balance_inherit(const struct catalog *catalog, struct tablet *made);
/* Has `other` so much more to do than `server` that leading should not be spread to it? */
bool balance_is_busier(const struct catalog *catalog,
                       const struct server *other,
                       const struct server *server);
/* Has the tablet so much to do that its load decides where it is led, not the number of others? */
bool balance_looks_after(const struct catalog *catalog, const struct tablet *tablet);
void read_list_events(struct catalog *catalog,
                      uint64_t request,
                      const struct list_events_request *list);

/* catalog_order_load.c: the orders carried out. */
void load_order_add(struct catalog *catalog, const struct load_order *order, struct bytes row);
/* Stage those whose time has come, as far as the transaction has room. */
void load_order_plan(struct catalog *catalog, struct transaction *transaction);
/* When one of them has work for a transaction; CATALOG_NEVER: none has. */
int64_t load_order_deadline_ns(const struct catalog *catalog);
/* What has come of those that were staged? */
void load_order_look(struct catalog *catalog);
void load_order_forget_all(struct catalog *catalog);

/* catalog_identity.c.  Do the server's stores belong to this catalog, as it is now?  Errors:
 * STATUS_FAILED_PRECONDITION, noted. */
enum status identity_check(struct catalog *catalog,
                           const struct sync_request *sync,
                           struct error *ret_error);
/* Why nobody should be told anything from this catalog; NULL = all is well. */
const char *identity_dispute(const struct catalog *catalog);
/* Said now and then: a server that is refused asks again at once. */
void sync_note_refused(struct catalog *catalog,
                       uint64_t server,
                       const char *event,
                       const struct error *error);

/* catalog_sync.c */
/* Is this the process of the server that was let in last?  incarnation 0: it does not say. */
bool sync_knows_process(const struct catalog *catalog, uint64_t number, uint64_t incarnation);
enum status sync_receive(struct catalog *catalog,
                         const struct catalog_event *event,
                         const struct sync_request *sync);
/* catalog_delta.c: answer a server's sync with what it does not know yet. */
bool delta_is_due(const struct catalog *catalog, const struct server *server);
/* held: it has been parked.  Answers from what server->known_version says. */
void delta_reply(struct catalog *catalog, struct server *server, uint64_t request, bool held);
/* Answer a parked sync now. */
void delta_unpark(struct catalog *catalog, struct server *server);

/* catalog_report.c: what a server says it holds. */
void report_take(struct catalog *catalog, struct server *server, const struct sync_request *sync);
/* The state that a tablet should have by what is known of it. */
uint32_t report_desired_state(struct tablet *tablet);

/* catalog_plan.c: what follows from what servers said; true if a transaction is pending now. */
bool plan_begin(struct catalog *catalog);
/* The planner's transaction failed: do all of it again, later. */
void plan_failed(struct catalog *catalog, const struct transaction *transaction);
/* How a server should be recorded, by what it says of itself; arrays in scratch.  Errors:
 * STATUS_NO_MEMORY. */
enum status plan_server_record(struct catalog *catalog,
                               const struct server *server,
                               struct server_record *ret_record);
bool plan_server_differs(const struct server_record *a, const struct server_record *b);
/* May it be split now, by whoever would have to do it? */
bool plan_may_split(const struct catalog *catalog, const struct tablet *tablet);
/* Has the server room for one more split? */
bool plan_may_split_on(const struct catalog *catalog,
                       const struct transaction *transaction,
                       const struct server *server);
/* The records of the two that come of a split, but for their numbers: the version is the next. */
void plan_children(const struct tablet_record *parent,
                   struct bytes row,
                   bool by_hand,
                   const struct catalog_settings *settings,
                   struct tablet_record ret_children[2]);
/* Stage a split, or the wish for one; ret_children: left and right number. */
void plan_stage_split(struct catalog *catalog,
                      struct transaction *transaction,
                      struct tablet *tablet,
                      struct bytes row,
                      bool by_hand,
                      uint64_t ret_children[2]);
int64_t plan_deadline_ns(const struct catalog *catalog);
void plan_wish_split(struct catalog *catalog, const struct tablet *tablet, struct bytes row);

/* catalog_place.c.  Room that is looked for. */
struct plan_wanted {
    uint64_t table;
    uint64_t avoid_server; /* taken only if no other is usable; 0 = none */
    size_t tablets;
    uint32_t copies; /* of each: on different servers; more than one: on servers that replicate */
};

/* Stores for new tablets of a table, into ret_stores: an array of the copies of each, one after the
 * other, its primary first.  Errors: STATUS_UNAVAILABLE (says why there are not enough),
 * STATUS_NO_MEMORY. */
enum status plan_place(struct catalog *catalog,
                       const struct plan_wanted *wanted,
                       struct store **ret_stores,
                       struct error *ret_error);
/* The first configuration of a tablet, or the next of one that never served, and the goal to stay
 * so.  stores: the primary's first. */
void plan_put_copies(struct tablet_record *record, struct store *const *stores, uint32_t copies);
/* Every store of every living server, in order of number, with none of a table counted; NULL without
 * memory.  replicating: of those alone that replicate. */
struct placement_store *plan_candidates(struct catalog *catalog,
                                        bool replicating,
                                        size_t *ret_count);
/* Where a store stands among them; count when it is none. */
size_t plan_candidate(const struct catalog *catalog,
                      const struct placement_store *stores,
                      size_t count,
                      uint64_t store);
/* Count the tablets of a table in, by their goals. */
void plan_count_table(const struct catalog *catalog,
                      uint64_t table,
                      struct placement_store *stores,
                      size_t count);

/* Tablets that wait too long to be made go elsewhere, as far as the transaction has room. */
void plan_place_again(struct catalog *catalog, struct transaction *transaction);

/* catalog_look.c.  Has somebody led it within replace_after, or might have? */
bool look_is_led(const struct catalog *catalog, const struct tablet *tablet, int64_t now_ns);
/* The state that people are told of: the record's, or TABLET_NOT_LED. */
uint32_t look_state(const struct catalog *catalog, const struct tablet *tablet, int64_t now_ns);

/* catalog_wait.c */
void wait_check(struct catalog *catalog); /* answer whoever need wait no longer */
int64_t wait_deadline_ns(const struct catalog *catalog);
void wait_start(struct catalog *catalog, struct open_request *request, enum waiting_for what);
/* What was prepared when it was staged; the request is gone after it. */
void wait_answer_prepared(struct catalog *catalog, struct open_request *request);
void request_destroy(struct catalog *catalog, struct open_request *request);

#endif /* MASTER_CORE_CATALOG_PARTS_H */

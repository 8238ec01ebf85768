/*
 * What the parts of the catalog ask of one another: each by the file that has it.
 *
 * Nobody outside of master/core includes this.  Thread rule: the catalog's (catalog.h).
 */
#ifndef MASTER_CORE_CATALOG_PARTS_H
#define MASTER_CORE_CATALOG_PARTS_H

#include "master/core/state/catalog_state.h"

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

/* catalog_change.c: begin the transaction of a request whose turn it is.  True: it is pending now.  False: the
 * request has been answered and freed. */
bool change_begin(struct catalog *catalog, struct open_request *request);
/* The request's transaction is durable: answer, or wait for what else must be so. */
void change_committed(struct catalog *catalog, struct open_request *request);
/* The request's transaction is known not to be durable, ever: answer that. */
void change_failed(struct catalog *catalog, struct open_request *request, const struct error *why);

/* A proposal being judged, and what it is about. */
struct judged {
    const struct proposal *proposal;
    struct tablet *tablet; /* of the version that the proposal is based on */
    struct tablet *right;  /* the same, where it is a merge */
    struct replica_member proposer;
};

/* catalog_judge.c: why the proposal may not be taken; NULL = it may. */
const char *judge_proposal(const struct catalog *catalog, const struct judged *judged);

/* catalog_propose.c: judge the proposals that wait, as many as fit one transaction.  That is pending afterwards,
 * or there is none to take, and those that were judged have been answered. */
void propose_begin(struct catalog *catalog);
/* The transaction of these proposals is durable, or known not to be, ever: answer them. */
void propose_committed(struct catalog *catalog, struct list *proposals);
void propose_failed(struct catalog *catalog, struct list *proposals, const struct error *why);

/* catalog_goal.c: change goals whose time has come, as far as the transaction has room. */
void goal_plan(struct catalog *catalog, struct transaction *transaction);
/* When goals must be looked at next; CATALOG_NEVER: no server looks at them. */
int64_t goal_deadline_ns(const struct catalog *catalog);

/* catalog_goal_beside.c: may of each of the table's tablets one copy be removed before another is taught?  Two must be
 * left meanwhile, and as many as writes need. */
bool goal_spares_copy(const struct table *table);

/* catalog_change.c: the table of that name; NULL, and the error set, when there is none. */
struct table_entry *change_find_table(const struct catalog *catalog,
                                      struct bytes name,
                                      struct error *ret_error);

/* catalog_order.c: what people order for servers and tablets.  Check a DRAIN_SERVER or MERGE_TABLETS and stage it;
 * *ret_staged false: there is nothing to write, and the answer says why.  Errors: the request's. */
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
/* How many copies the server is to give away and cannot: no other server has room that has none of their tablet
 * already, or the server itself does not replicate.  Linear in its tablets: for servers that drain. */
uint32_t order_count_stuck(struct catalog *catalog, const struct server *leaving);
/* Do the copies of two neighbours lie so that they cannot be merged, however long one waits? */
bool order_are_apart(const struct catalog *catalog,
                     const struct tablet *left,
                     const struct tablet *right);
/* Two neighbours are to be merged by their goals: take that back.  From this transaction on no proposal to merge
 * them is taken. */
void order_withdraw_merge(struct catalog *catalog,
                          struct transaction *transaction,
                          struct tablet *left,
                          struct tablet *right);
/* Wish by their goals that two neighbours be merged.  by_hand: as a person ordered it.  Errors: they cannot be merged
 * now. */
enum status order_merge(struct catalog *catalog,
                        struct transaction *transaction,
                        struct tablet *left,
                        struct tablet *right,
                        bool by_hand,
                        struct error *ret_error);

/* catalog_recover.c: tablets whose members are all lost.  Stage the choice of a copy, as order_stage_drain(). */
enum status recover_stage(struct catalog *catalog,
                          struct transaction *transaction,
                          struct open_request *request,
                          bool *ret_staged,
                          struct error *ret_error);
/* List them, with the copies that there are: a request that only looks. */
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

/* catalog_document.c.  Check a PUT_DOCUMENTS and stage it, as order_stage_drain(). */
enum status document_stage(struct catalog *catalog,
                           struct transaction *transaction,
                           struct open_request *request,
                           bool *ret_staged,
                           struct error *ret_error);
void read_list_documents(struct catalog *catalog,
                         uint64_t request,
                         const struct list_documents_request *list);

/* catalog_hot.c.  Take in what a sync reports of load. */
void hot_take(struct catalog *catalog, struct server *server, const struct sync_request *sync);
/* A tablet is being made of another one: what was told of where its load is goes over to it. */
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
/* A split by size is being staged: note it as an event, whose outcome is noted when it is done. */
void balance_note_size(struct catalog *catalog, const struct tablet *tablet, struct bytes row);
/* A split by size waits, as there are as many tablets as there may be: note that. */
void balance_note_limit(struct catalog *catalog, const struct tablet *tablet);
/* What is known of the load of a tablet that is being made goes over to it from those that it is made of. */
void balance_inherit(const struct catalog *catalog, struct tablet *made);
/* Is `other` so much busier than `server` that it should not be made to lead more, though it leads fewer tablets? */
bool balance_is_busier(const struct catalog *catalog,
                       const struct server *other,
                       const struct server *server);
/* Has the tablet so much to do that its load decides which server leads it, not how many each of them leads? */
bool balance_looks_after(const struct catalog *catalog, const struct tablet *tablet);
void read_list_events(struct catalog *catalog,
                      uint64_t request,
                      const struct list_events_request *list);

/* catalog_order_load.c: the orders carried out. */
void load_order_add(struct catalog *catalog, const struct load_order *order, struct bytes row);
/* A merge that is wished was ordered because of load, under the master before this one: from now on it is looked after, and
 * taken back in turn where it takes too long. */
void load_order_adopt_merge(struct catalog *catalog, const struct tablet *left);
/* A person takes the merge of this one and its right neighbour back: it is not to be ordered again. */
void load_order_note_undone(struct catalog *catalog, const struct tablet *left);
/* Stage those whose time has come, as far as the transaction has room. */
void load_order_plan(struct catalog *catalog, struct transaction *transaction);
/* When an order can be staged next; CATALOG_NEVER: none waits for that. */
int64_t load_order_deadline_ns(const struct catalog *catalog);
/* Look what has come of orders that were staged, and note it. */
void load_order_look(struct catalog *catalog);
void load_order_forget_all(struct catalog *catalog);

/* catalog_identity.c.  Do the server's stores belong to this catalog, as it is now?  Errors:
 * STATUS_FAILED_PRECONDITION, noted. */
enum status identity_check(struct catalog *catalog,
                           const struct sync_request *sync,
                           struct error *ret_error);
/* Why nobody should be told anything from this catalog; NULL = all is well. */
const char *identity_dispute(const struct catalog *catalog);
/* Log that a server was refused; now and then only, as it asks again at once. */
void sync_note_refused(struct catalog *catalog,
                       uint64_t server,
                       const char *event,
                       const struct error *error);

/* catalog_sync.c */
/* Is this the very process of the server that was let in last?  incarnation 0: it does not say which it is. */
bool sync_knows_process(const struct catalog *catalog, uint64_t number, uint64_t incarnation);
enum status sync_receive(struct catalog *catalog,
                         const struct catalog_event *event,
                         const struct sync_request *sync);
/* catalog_delta.c: answer a server's sync with what it does not know yet. */
bool delta_is_due(const struct catalog *catalog, const struct server *server);
/* Tell the server what has changed since server->known_version.  held: its sync has been parked. */
void delta_reply(struct catalog *catalog, struct server *server, uint64_t request, bool held);
/* Answer a parked sync now. */
void delta_unpark(struct catalog *catalog, struct server *server);

/* catalog_report.c: what a server says it holds. */
void report_take(struct catalog *catalog, struct server *server, const struct sync_request *sync);
/* The state that a tablet's record should have, by what servers say that they hold of it. */
uint32_t report_desired_state(struct tablet *tablet);

/* catalog_plan.c: begin a transaction with what follows from servers' reports; true if one is pending now. */
bool plan_begin(struct catalog *catalog);
/* The planner's transaction failed: do all of it again, later. */
void plan_failed(struct catalog *catalog, const struct transaction *transaction);
/* The record that a server should have by what it says of itself; arrays in scratch.  Errors:
 * STATUS_NO_MEMORY. */
enum status plan_server_record(struct catalog *catalog,
                               const struct server *server,
                               struct server_record *ret_record);
bool plan_server_differs(const struct server_record *a, const struct server_record *b);
/* May the tablet be split now: does it serve, is nothing under way, and is there a server that could do it? */
bool plan_may_split(const struct catalog *catalog, const struct tablet *tablet);
/* Has the server room for one more split? */
bool plan_may_split_on(const struct catalog *catalog,
                       const struct transaction *transaction,
                       const struct server *server);
/* The records of the two that come of a split, but for their numbers.  Their version is one above the parent's. */
void plan_children(const struct tablet_record *parent,
                   struct bytes row,
                   bool by_hand,
                   const struct catalog_settings *settings,
                   struct tablet_record ret_children[2]);
/* Stage a split, or, where the server replicates, the wish for one.  ret_children: the numbers, left and right. */
void plan_stage_split(struct catalog *catalog,
                      struct transaction *transaction,
                      struct tablet *tablet,
                      struct bytes row,
                      bool by_hand,
                      uint64_t ret_children[2]);
int64_t plan_deadline_ns(const struct catalog *catalog);
/* A report asks for a split by size: keep that until there is room for it. */
void plan_wish_split(struct catalog *catalog, const struct tablet *tablet, struct bytes row);

/* catalog_place.c.  Room that is looked for. */
struct plan_wanted {
    uint64_t table;
    uint64_t avoid_server; /* chosen only if no other server is usable; 0 = none */
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
/* Every store of every living server (replicating: of those that replicate), in order of number; no tablets of a
 * table are counted in yet.  NULL without memory. */
struct placement_store *plan_candidates(struct catalog *catalog,
                                        bool replicating,
                                        size_t *ret_count);
/* The place of a store among these candidates; `count` when it is none of them. */
size_t plan_candidate(const struct catalog *catalog,
                      const struct placement_store *stores,
                      size_t count,
                      uint64_t store);
/* Count the table's tablets in, for each candidate that their goals name. */
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
/* Send the answer that was prepared when the change was staged; the request is gone after it. */
void wait_answer_prepared(struct catalog *catalog, struct open_request *request);
void request_destroy(struct catalog *catalog, struct open_request *request);

#endif /* MASTER_CORE_CATALOG_PARTS_H */

#include <stdio.h>
#include <string.h>

#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/*
 * Tablets whose members are all lost, or damaged (docs/replication.md, rule 18 and section 9): what copies
 * there are, and which of them shall be the tablet from now on.  It is the only change of members that no member
 * proposes, and the only one that may lose what was acknowledged; so only a person orders it.
 *
 * Nothing is lost as long as somebody leads, or as long as a member might still take over by itself: for
 * replace_after nobody must have led.  (Who leads unheard by any master may go on for as long as its members
 * grant it; of these the copy that is chosen is none any more.)
 */

#define LISTED_MAX 1000 /* tablets in one answer */

/* --- what is lost ------------------------------------------------------------------------------- */

static int64_t unled_ns(const struct catalog *catalog, const struct tablet *tablet)
{
    return catalog->now_ns - tablet->led_ns;
}

static bool is_lost(const struct catalog *catalog, const struct tablet *tablet)
{
    return tablet->record.state != TABLET_CREATING &&
           !look_is_led(catalog, tablet, catalog->now_ns);
}

static struct bytes why_lost(struct catalog *catalog,
                             const struct tablet *tablet,
                             const struct found_copy *best)
{
    char text[160];
    int64_t seconds = unled_ns(catalog, tablet) / INT64_C(1000000000);
    if (!is_lost(catalog, tablet)) {
        return BYTES_EMPTY;
    }
    (void)snprintf(text, sizeof text,
                   "nobody has led it for %lld s, as far as this master knows; %s",
                   (long long)seconds,
                   best == NULL || !copies_is_usable(best) ? "no living server has a copy"
                   : (best->flags & FOUND_DAMAGED) != 0    ? "what copies there are, are damaged"
                   : (best->flags & FOUND_MEMBER) != 0 ? "a member is there, and cannot lead alone"
                                                       : "the copies that are there do not count");
    return arena_copy(&catalog->scratch, bytes_of_text(text));
}

static enum status describe(struct catalog *catalog,
                            const struct tablet *tablet,
                            struct lost_tablet *ret_lost)
{
    const struct tablet_record *record = &tablet->record;
    const struct table_entry *entry = number_map_get(&catalog->tables, record->table);
    size_t count = 0;
    const struct found_copy *copies = copies_find(catalog, tablet, &count);
    if (copies == NULL) {
        return STATUS_NO_MEMORY;
    }
    *ret_lost = (struct lost_tablet){
        .tablet = record->number,
        .table = entry->image->record.table.id,
        .start = record->range.start,
        .end = record->range.end,
        .state = record->state,
        .version = record->configuration.version,
        .why = why_lost(catalog, tablet, count > 0 ? &copies[0] : NULL),
        .copies = copies,
        .copy_count = count,
        .recovered_us = (int64_t)record->recovered_us,
        .recovered_by = bytes_of_text(record->recovered_by),
    };
    return STATUS_OK;
}

/* --- listing ------------------------------------------------------------------------------------ */

static enum status list_lost(struct catalog *catalog,
                             const struct table_entry *entry,
                             struct lost_tablet *tablets,
                             struct recover_response *response)
{
    for (size_t i = 0; i < entry->tablet_count; i++) {
        if (!is_lost(catalog, entry->tablets[i])) {
            continue;
        }
        if (response->tablet_count == LISTED_MAX) {
            response->more = true;
            return STATUS_OK;
        }
        enum status status = describe(catalog, entry->tablets[i], &tablets[response->tablet_count]);
        if (status != STATUS_OK) {
            return status;
        }
        response->tablet_count++;
    }
    return STATUS_OK;
}

static enum status find_tablet(const struct catalog *catalog,
                               const struct recover_request *recover,
                               struct tablet **ret_tablet,
                               struct error *ret_error)
{
    *ret_tablet = number_map_get(&catalog->tablets, recover->tablet);
    return *ret_tablet != NULL
               ? STATUS_OK
               : error_set(ret_error, STATUS_NOT_FOUND, "tablet %llu is not in the catalog",
                           (unsigned long long)recover->tablet);
}

static enum status list(struct catalog *catalog,
                        const struct recover_request *recover,
                        struct lost_tablet *tablets,
                        struct recover_response *response,
                        struct error *ret_error)
{
    if (recover->tablet != 0) {
        struct tablet *tablet = NULL;
        enum status status = find_tablet(catalog, recover, &tablet, ret_error);
        response->tablet_count = status == STATUS_OK ? 1 : 0;
        return status == STATUS_OK ? describe(catalog, tablet, &tablets[0]) : status;
    }
    if (recover->table.size_bytes > 0) {
        const struct table_entry *entry = change_find_table(catalog, recover->table, ret_error);
        return entry == NULL ? STATUS_NOT_FOUND : list_lost(catalog, entry, tablets, response);
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; i < catalog->table_count && status == STATUS_OK; i++) {
        status = list_lost(catalog, catalog->by_name[i], tablets, response);
    }
    return status;
}

enum status recover_read(struct catalog *catalog,
                         uint64_t request,
                         const struct recover_request *recover,
                         struct error *ret_error)
{
    struct lost_tablet *tablets = arena_allocate_array(&catalog->scratch, LISTED_MAX,
                                                       sizeof *tablets);
    struct recover_response response = {.tablets = tablets};
    enum status status = tablets == NULL ? STATUS_NO_MEMORY
                                         : list(catalog, recover, tablets, &response, ret_error);
    if (status == STATUS_OK) {
        struct buffer message = effects_begin_message();
        recover_response_encode(&response, &message);
        emit_reply(catalog, request, &message);
    }
    return status;
}

/* --- choosing ----------------------------------------------------------------------------------- */

/* Nothing is chosen where nothing is lost. */
static enum status check_lost(const struct catalog *catalog,
                              const struct tablet *tablet,
                              struct error *ret_error)
{
    unsigned long long number = (unsigned long long)tablet->record.number;
    if (is_lost(catalog, tablet)) {
        return STATUS_OK;
    }
    if (tablet->record.state == TABLET_CREATING) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "tablet %llu is being created: there is nothing to recover", number);
    }
    return error_set(
        ret_error, STATUS_FAILED_PRECONDITION,
        "tablet %llu was led %lld s ago: nothing is lost, or a copy may still take over by itself; "
        "it can be recovered when nobody has led it for %lld s (replication.replace_after)",
        number, (long long)(unled_ns(catalog, tablet) / INT64_C(1000000000)),
        (long long)(catalog->settings.replace_after_ns / INT64_C(1000000000)));
}

static enum status check_copy(const struct catalog *catalog,
                              const struct tablet *tablet,
                              const struct found_copy *copy,
                              struct error *ret_error)
{
    unsigned long long number = (unsigned long long)tablet->record.number;
    const struct server *server = copy == NULL ? NULL : state_server(catalog, copy->server);
    if (copy == NULL) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "no server has told of a copy of tablet %llu in that store: start the one "
                         "that has it, or choose another",
                         number);
    }
    if (!copies_is_usable(copy)) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "store %llu %s tablet %llu: start a server that has it; where there is "
                         "none for good, delete the table",
                         (unsigned long long)copy->store,
                         (copy->flags & FOUND_EMPTY) != 0 ? "has nothing that counts of"
                                                          : "is not there, with its copy of",
                         number);
    }
    if (!server->replicates || server->image == NULL ||
        state_owner(catalog, copy->store) != server) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "server %llu does not replicate (replicate = true), so it cannot be told "
                         "to lead tablet %llu",
                         (unsigned long long)copy->server, number);
    }
    return STATUS_OK;
}

static const struct found_copy *find_chosen(const struct found_copy *copies,
                                            size_t count,
                                            uint64_t store)
{
    for (size_t i = 0; i < count; i++) {
        if (store == 0 || copies[i].store == store) {
            return &copies[i];
        }
    }
    return NULL;
}

/* It is wanted where it is, instead of one on the same server, or one that is not there. */
static void want_chosen(const struct catalog *catalog,
                        const struct found_copy *copy,
                        struct tablet_goal *goal)
{
    uint64_t leaves = goal->stores[0];
    if (tablet_goal_names(goal, copy->store)) {
        return;
    }
    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct server *owner = state_owner(catalog, goal->stores[i]);
        if (owner != NULL && owner->number == copy->server) {
            leaves = goal->stores[i];
            break;
        }
        leaves = owner == NULL || !owner->alive ? goal->stores[i] : leaves;
    }
    tablet_goal_remove(goal, leaves);
    tablet_goal_add(goal, copy->store);
}

static void stage_chosen(struct catalog *catalog,
                         struct transaction *transaction,
                         struct tablet *tablet,
                         const struct found_copy *copy,
                         struct bytes who)
{
    struct tablet_record record = tablet->record;
    record.configuration = (struct replica_configuration){
        .version = replica_version_of_next_era(tablet->record.configuration.version),
        .member_count = 1,
        .members = {{copy->server, copy->store}}};
    record.recovered_version = record.configuration.version;
    record.recovered_us = (uint64_t)catalog->now_us;
    memset(record.recovered_by, 0, sizeof record.recovered_by);
    memcpy(record.recovered_by, who.data, who.size_bytes);
    want_chosen(catalog, copy, &record.goal);
    transaction_update_tablet(transaction, tablet, &record);
    emit_note(catalog,
              &(struct catalog_note){.event = "tablet_recovered",
                                     .warning = true,
                                     .table = record.table,
                                     .tablet = record.number,
                                     .server = copy->server,
                                     .store = copy->store},
              "by %s: version %llu is what it has, up to %llu%s", record.recovered_by,
              (unsigned long long)record.recovered_version, (unsigned long long)copy->committed,
              (copy->flags & FOUND_DAMAGED) != 0 ? ", damaged" : "");
}

static bool is_text(struct bytes who)
{
    for (size_t i = 0; i < who.size_bytes; i++) {
        if (who.data[i] < ' ' || who.data[i] > '~') {
            return false;
        }
    }
    return who.size_bytes > 0;
}

static enum status choose(struct catalog *catalog,
                          struct transaction *transaction,
                          struct open_request *request,
                          const struct recover_request *recover,
                          struct error *ret_error)
{
    struct tablet *tablet = NULL;
    struct lost_tablet lost = {0};
    enum status status = find_tablet(catalog, recover, &tablet, ret_error);
    if (status == STATUS_OK) {
        status = check_lost(catalog, tablet, ret_error);
    }
    if (status == STATUS_OK) {
        status = describe(catalog, tablet, &lost);
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct found_copy *copy = find_chosen(lost.copies, lost.copy_count, recover->store);
    status = check_copy(catalog, tablet, copy, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    const struct recover_response response = {
        .tablets = &lost, .tablet_count = 1, .chosen_store = copy->store};
    request->answer = effects_begin_message();
    recover_response_encode(&response, &request->answer);
    stage_chosen(catalog, transaction, tablet, copy, recover->who);
    return STATUS_OK;
}

enum status recover_stage(struct catalog *catalog,
                          struct transaction *transaction,
                          struct open_request *request,
                          bool *ret_staged,
                          struct error *ret_error)
{
    struct recover_request recover;
    enum status status = recover_request_decode(request->body, &catalog->scratch, &recover,
                                                ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (!is_text(recover.who)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "who accepts the loss must be said, as printable text");
    }
    status = choose(catalog, transaction, request, &recover, ret_error);
    *ret_staged = status == STATUS_OK;
    return status;
}

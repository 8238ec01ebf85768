/*
 * Comparing copies, performed (docs/replication.md, section 9): scrub.h at a primary, and at every member, the
 * primary among them, what it is asked for.
 *
 *   primary                                            every member
 *   scrub.h -- DIGEST, as of what it gave out last --> waits until it has committed just that, opens a read,
 *      ^                                               on_digest --> store_digest_run() --> host_digested()
 *      '------------------- DIGESTED ------------------------'
 *
 * DIGEST travels among the prepares, so whoever it comes to has not committed more yet; and commits stop at
 * its sequence until the read is open (hosted_commit_stop()).  Where it came late all the same, that is said,
 * and the primary asks again.  A copy has one of them under way: a newer one takes its place.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"
#include "tabletserver/storage/copies/store_digest.h"

/* One that is being read. */
struct host_digesting {
    struct store_tablet *tablet; /* with a reference */
    struct store_digesting *read;
    struct host_digest_asked asked; /* taken over */
    struct store_digest digest;
    enum status status;
};

/* --- what was asked ----------------------------------------------------------------------------- */

static void forget_asked(struct host_digest_asked *asked)
{
    buffer_deinit(&asked->after);
    *asked = (struct host_digest_asked){.after = BUFFER_INIT};
}

static bool reigns_over(const struct hosted *hosted, const struct host_digest_asked *asked)
{
    struct replica_view view = replica_look(hosted->replica);
    return view.configuration.version == asked->version && view.trouble == REPLICA_FINE;
}

static void answer(struct hosted *hosted,
                   const struct host_digest_asked *asked,
                   const struct replica_digest *digest)
{
    const struct host_options *options = &hosted->host->options;
    if (asked->by.store == options->self.store) {
        hosted_take_digest(hosted, options->self.store, asked->number, digest);
        return;
    }
    struct replica_message message = {.type = REPLICA_DIGESTED,
                                      .version = asked->version,
                                      .opener = asked->incarnation,
                                      .number = asked->number,
                                      .digest = *digest};
    hosted_send(hosted, asked->by, &message);
}

static void answer_missed(struct hosted *hosted)
{
    static const struct replica_digest missed = {.missed = true};
    struct host_digest_asked asked = hosted->asked;
    hosted->asked = (struct host_digest_asked){.after = BUFFER_INIT};
    answer(hosted, &asked, &missed);
    forget_asked(&asked);
}

static void start_reading(struct hosted *hosted)
{
    const struct host_options *options = &hosted->host->options;
    struct host_digesting *digesting = memory_allocate_zeroed(1, sizeof *digesting);
    if (digesting == NULL ||
        store_digest_begin(hosted->tablet, hosted->asked.range.schema_version,
                           hosted->asked.range.now_us, &digesting->read) != STATUS_OK) {
        memory_free(digesting);
        answer_missed(hosted);
        return;
    }
    digesting->tablet = hosted->tablet;
    store_tablet_ref(hosted->tablet);
    digesting->asked = hosted->asked;
    hosted->asked = (struct host_digest_asked){.after = BUFFER_INIT};
    hosted->digesting = digesting;
    options->on_digest(options->context, hosted->tablet, digesting);
}

uint64_t hosted_commit_stop(const struct hosted *hosted)
{
    return hosted->asked.number != 0 ? hosted->asked.sequence : UINT64_MAX;
}

void hosted_look_at_digest(struct hosted *hosted)
{
    uint64_t committed = store_tablet_committed(hosted->tablet);
    if (hosted->asked.number == 0 || committed < hosted->asked.sequence) {
        return;
    }
    if (committed > hosted->asked.sequence || !reigns_over(hosted, &hosted->asked) ||
        store_tablet_is_half_taught(hosted->tablet)) {
        answer_missed(hosted);
    } else {
        start_reading(hosted);
    }
}

static void take_asked(struct hosted *hosted,
                       struct replica_member by,
                       const struct replica_message *message)
{
    struct host_digest_asked asked = {.by = by,
                                      .version = message->version,
                                      .incarnation = message->incarnation,
                                      .number = message->number,
                                      .sequence = message->sequence,
                                      .range = message->range,
                                      .after = BUFFER_INIT};
    buffer_append_bytes(&asked.after, message->range.after);
    asked.range.after = BYTES_EMPTY;
    if (asked.after.failed || asked.number == 0 || !reigns_over(hosted, &asked)) {
        forget_asked(&asked);
        return; /* it is asked again */
    }
    forget_asked(&hosted->asked);
    hosted->asked = asked;
    hosted_look_at_digest(hosted);
}

/* --- reading ------------------------------------------------------------------------------------ */

void host_digest_run(struct host_digesting *digesting)
{
    digesting->status = store_digest_run(digesting->read, buffer_bytes(&digesting->asked.after),
                                         digesting->asked.range.bytes_max, &digesting->digest);
}

void host_digest_discard(struct host_digesting *digesting)
{
    store_digest_end(digesting->read);
    buffer_deinit(&digesting->digest.last);
    forget_asked(&digesting->asked);
    store_tablet_unref(digesting->tablet);
    memory_free(digesting);
}

void host_digested(struct host *host, struct host_digesting *digesting)
{
    struct hosted *hosted = store_tablet_replica(digesting->tablet);
    (void)host;
    if (hosted != NULL && hosted->digesting == digesting) {
        const struct store_digest *read = &digesting->digest;
        const struct replica_digest digest = {.missed = digesting->status != STATUS_OK,
                                              .halves = {read->halves[0], read->halves[1]},
                                              .is_end = read->is_end,
                                              .last = buffer_bytes(&read->last)};
        hosted->digesting = NULL;
        answer(hosted, &digesting->asked, &digest); /* a checksum that failed says so itself */
        hosted_reschedule(hosted);
    }
    host_digest_discard(digesting);
}

/* --- the primary -------------------------------------------------------------------------------- */

static struct scrub_event event_of(const struct hosted *hosted, enum scrub_event_type type)
{
    struct replica_view view = replica_look(hosted->replica);
    const struct replica_configuration *members = &view.configuration;
    struct store_tablet_statistics numbers;
    struct scrub_event event = {
        .type = type, .now_ns = clock_monotonic_ns(), .self = hosted->host->options.self.store};
    if (!view.serving) {
        return event;
    }
    for (uint32_t i = 0; i < members->member_count; i++) {
        if (members->members[i].store != event.self) {
            event.peers.members[event.peers.count++] = members->members[i];
        }
    }
    store_tablet_statistics(hosted->tablet, &numbers);
    event.tablet_bytes = numbers.base_bytes + numbers.memtable_bytes;
    event.settled = view.trouble == REPLICA_FINE && view.barrier == 0;
    return event;
}

static void compare(struct hosted *hosted, uint64_t number)
{
    const struct host_options *options = &hosted->host->options;
    struct replica_view view = replica_look(hosted->replica);
    struct replica_message message = {
        .type = REPLICA_DIGEST,
        .version = view.configuration.version,
        .incarnation = options->incarnation,
        .sequence = view.appended,
        .number = number,
        .range = {.schema_version = store_digest_schema_version(hosted->tablet),
                  .now_us = store_digest_time_us(hosted->tablet, options->now_us(options->context)),
                  .bytes_max = options->scrub.range_bytes,
                  .after = scrub_after(&hosted->scrub)}};
    for (uint32_t i = 0; i < view.configuration.member_count; i++) {
        struct replica_member member = view.configuration.members[i];
        if (member.store != options->self.store) {
            hosted_send(hosted, member, &message);
        }
    }
    take_asked(hosted, options->self, &message);
}

static void condemn(struct hosted *hosted, uint64_t store)
{
    struct host *host = hosted->host;
    const struct replica_configuration members = replica_look(hosted->replica).configuration;
    uint32_t at = replica_configuration_find(&members, store);
    if (store == host->options.self.store) {
        struct replica_event event = {.type = REPLICA_EVENT_DAMAGED};
        hosted_step(hosted, &event);
    } else if (at < members.member_count) {
        struct replica_message message = {
            .type = REPLICA_DIFFERS, .version = members.version, .number = hosted->scrub.number};
        hosted_send(hosted, members.members[at], &message);
    }
}

static void step_scrub(struct hosted *hosted, const struct scrub_event *event)
{
    const struct host_options *options = &hosted->host->options;
    struct scrub_effects effects;
    scrub_step(&hosted->scrub, event, &effects);
    scrub_check(&hosted->scrub);
    for (uint32_t i = 0; i < effects.count; i++) {
        const struct scrub_effect *effect = &effects.items[i];
        switch (effect->type) {
        case SCRUB_EFFECT_COMPARE:
            compare(hosted, effect->number);
            break;
        case SCRUB_EFFECT_DIFFER:
            options->on_differ(options->context, hosted->tablet, &hosted->scrub, effect);
            break;
        case SCRUB_EFFECT_CONDEMN:
            condemn(hosted, effect->store);
            break;
        }
    }
}

void hosted_take_digest(struct hosted *hosted,
                        uint64_t store,
                        uint64_t number,
                        const struct replica_digest *digest)
{
    struct scrub_event event = event_of(hosted, SCRUB_EVENT_ANSWER);
    event.store = store;
    event.number = number;
    event.digest = digest;
    step_scrub(hosted, &event);
}

/* Most ticks are somebody else's. */
void hosted_tick_scrub(struct hosted *hosted)
{
    int64_t due_ns = scrub_deadline_ns(&hosted->scrub);
    if (due_ns != INT64_MAX && clock_monotonic_ns() < due_ns) {
        return;
    }
    const struct scrub_event event = event_of(hosted, SCRUB_EVENT_TICK);
    step_scrub(hosted, &event);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Of the store that leads under the version that is in force here.  Whichever process of it: an answer names the
 * one that has asked (the opener), and a copy that differs does so whoever says it. */
static bool comes_from_leader(const struct hosted *hosted,
                              struct replica_member from,
                              const struct replica_message *message)
{
    struct replica_view view = replica_look(hosted->replica);
    const struct replica_configuration *members = &view.configuration;
    return view.role == REPLICA_SECONDARY && members->version == message->version &&
           members->members[members->leader].store == from.store;
}

bool hosted_hear_digest(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message)
{
    switch ((int)message->type) {
    case REPLICA_DIGEST:
        if (comes_from_leader(hosted, from, message)) {
            take_asked(hosted, from, message);
        }
        break;
    case REPLICA_DIGESTED:
        if (message->opener == hosted->host->options.incarnation &&
            message->version == replica_look(hosted->replica).configuration.version) {
            hosted_take_digest(hosted, from.store, message->number, &message->digest);
        }
        break;
    case REPLICA_DIFFERS:
        if (comes_from_leader(hosted, from, message)) {
            struct replica_event event = {.type = REPLICA_EVENT_DAMAGED};
            hosted_step(hosted, &event);
        }
        break;
    default:
        return false;
    }
    hosted_reschedule(hosted);
    return true;
}

void hosted_forget_digests(struct hosted *hosted)
{
    forget_asked(&hosted->asked);
    hosted->digesting = NULL; /* what is being read frees itself */
    scrub_end(&hosted->scrub);
}

const struct scrub *host_scrub(const struct store_tablet *tablet)
{
    const struct hosted *hosted = store_tablet_replica(tablet);
    return &hosted->scrub;
}

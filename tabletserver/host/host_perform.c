/*
 * Effects out.
 */
#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/host/host_internal.h"
#include "tabletserver/storage/copies/store_relearn.h"

/* --- promises ----------------------------------------------------------------------------------- */

bool hosted_may_promise(const struct hosted *hosted)
{
    return hosted->promise_count + HOST_STEP_PROMISES <= HOST_PROMISES_MAX;
}

static void keep_promise(struct hosted *hosted, const struct replica_effect *effect)
{
    ASSERT(hosted->promise_count < HOST_PROMISES_MAX);
    hosted->promises[hosted->promise_count++] = (struct host_promise){
        .except = effect->type == REPLICA_EFFECT_EXCEPT,
        .peer = effect->to.server,
        .incarnation = effect->incarnation,
        .version = effect->version};
}

static bool hand_over(struct hosted *hosted, const struct host_promise *promise)
{
    struct beacons *beacons = hosted->host->options.beacons;
    if (!promise->except) {
        return beacons_grant(beacons, promise->peer, promise->incarnation, hosted->number,
                             promise->version);
    }
    if (hosted->except_count >= HOST_PROMISES_MAX ||
        !beacons_except(beacons, promise->peer, hosted->number, promise->version)) {
        return false;
    }
    hosted->excepts[hosted->except_count++] = *promise;
    return true;
}

bool hosted_promise(struct hosted *hosted)
{
    uint32_t done = 0;
    while (done < hosted->promise_count && hand_over(hosted, &hosted->promises[done])) {
        done++;
    }
    hosted->promise_count -= done;
    memmove(hosted->promises, hosted->promises + done,
            hosted->promise_count * sizeof *hosted->promises);
    return hosted->promise_count == 0;
}

/* --- readings ----------------------------------------------------------------------------------- */

/* One at a time for each peer: a newer one means that the older is not waited for. */
static void keep_reading(struct hosted *hosted, const struct replica_effect *effect)
{
    struct host_reading *free_one = NULL;
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX; i++) {
        struct host_reading *reading = &hosted->readings[i];
        if (reading->to.store == effect->to.store) {
            free_one = reading;
            break;
        }
        free_one = reading->to.store == 0 ? reading : free_one;
    }
    ASSERT(free_one != NULL);
    *free_one = (struct host_reading){effect->to, effect->sequence};
}

/* The log is read up to what is committed; what is not yet, soon will be. */
void hosted_ask_reads(struct hosted *hosted)
{
    const struct host_options *options = &hosted->host->options;
    uint64_t committed = store_tablet_committed(hosted->tablet);
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX; i++) {
        struct host_reading reading = hosted->readings[i];
        if (reading.to.store != 0 && reading.sequence <= committed) {
            hosted->readings[i] = (struct host_reading){.sequence = 0};
            options->on_read(options->context, hosted->tablet, reading.sequence, reading.to);
        }
    }
}

/* --- one by one --------------------------------------------------------------------------------- */

static void keep_configuration(struct hosted *hosted, const struct replica_effect *effect)
{
    bool lower = !hosted->configure_due || effect->sequence < hosted->kept;
    hosted->kept = lower ? effect->sequence : hosted->kept;
    if (hosted->barred_sequence > effect->sequence) {
        hosted->barred_sequence = effect->sequence; /* what barred the way is dropped */
    }
    hosted->configuration = (struct store_configuration){
        .members = effect->configuration,
        .role = (uint8_t)effect->role,
        .flags = {.opened = effect->flags.opened,
                  .doubt_noted = effect->flags.doubt_noted,
                  .bound = effect->flags.bound,
                  .damaged = effect->flags.damaged,
                  .doubtful = effect->flags.doubtful}};
    hosted->configure_due = true;
    hosted->configures_due++;
}

static void follow(struct hosted *hosted)
{
    hosted->lead_due = false;
    store_tablet_follow(hosted->tablet);
}

void hosted_send(struct hosted *hosted, struct replica_member to, struct replica_message *message)
{
    const struct host_options *options = &hosted->host->options;
    message->incarnation = options->incarnation;
    (void)lanes_send(options->lanes, options->self.store, to, hosted->number, message);
}

static void send(struct hosted *hosted, const struct replica_effect *effect)
{
    const struct host_options *options = &hosted->host->options;
    (void)lanes_send(options->lanes, options->self.store, effect->to, hosted->number,
                     &effect->message); /* lost: it comes again */
}

static void propose(struct hosted *hosted, const struct replica_proposal *proposal)
{
    const struct host_options *options = &hosted->host->options;
    struct replica_proposal given = *proposal;
    struct host_proposal host_proposal = {.replica = &given};
    struct store_entry barrier;
    if (proposal->kind == REPLICA_PROPOSE_SPLIT &&
        !store_tablet_last_split(hosted->tablet, &barrier, &host_proposal.split)) {
        return; /* its store is behind: it comes again */
    }
    if (proposal->kind == REPLICA_PROPOSE_MERGE) {
        if (!store_tablet_last_absorb(hosted->tablet, &barrier, &host_proposal.absorb)) {
            return;
        }
        given.next.version = merge_version(given.base, host_proposal.absorb.right_version);
    }
    options->on_propose(options->context, hosted->number, options->self, &host_proposal);
}

/* Of the process whose OPENED has caused it. */
static void teach(struct hosted *hosted,
                  const struct replica_effect *effect,
                  const struct replica_event *event)
{
    const struct host_pupil pupil = {.tablet = hosted->number,
                                     .member = effect->to,
                                     .incarnation = event->message.incarnation,
                                     .version = event->message.version,
                                     .sequence = effect->sequence};
    hosted_teach(hosted, &pupil);
}

static void perform(struct hosted *hosted,
                    const struct replica_effect *effect,
                    const struct replica_event *event)
{
    const struct host_options *options = &hosted->host->options;
    switch (effect->type) {
    case REPLICA_EFFECT_SEND:
        send(hosted, effect);
        break;
    case REPLICA_EFFECT_APPEND: /* it is in the window, or was given out by the store */
        break;
    case REPLICA_EFFECT_CONFIGURE:
        keep_configuration(hosted, effect);
        break;
    case REPLICA_EFFECT_COMMIT:
        hosted->commit_due = effect->sequence;
        break;
    case REPLICA_EFFECT_LEAD:
        hosted->lead_due = true;
        break;
    case REPLICA_EFFECT_FOLLOW:
        follow(hosted);
        break;
    case REPLICA_EFFECT_SERVE:
        hosted_serve(hosted, &effect->peers);
        hosted_tick_scrub(hosted); /* from now on its copies are compared */
        break;
    case REPLICA_EFFECT_CEASE:
        hosted_cease(hosted);
        options->on_ceased(options->context, hosted->tablet);
        break;
    case REPLICA_EFFECT_GRANT:
    case REPLICA_EFFECT_EXCEPT:
        keep_promise(hosted, effect);
        break;
    case REPLICA_EFFECT_PROPOSE:
        propose(hosted, &effect->proposal);
        break;
    case REPLICA_EFFECT_ASK:
        options->on_ask(options->context, hosted->number);
        break;
    case REPLICA_EFFECT_READ:
        keep_reading(hosted, effect);
        break;
    case REPLICA_EFFECT_TEACH:
        teach(hosted, effect, event);
        break;
    }
}

/* For those who report it.  A step without effects can have changed it, too: a lone primary is damaged, and who was let go
 * begins by doing nothing. */
void hosted_note_view(struct hosted *hosted)
{
    const struct host_options *options = &hosted->host->options;
    struct replica_view view = replica_look(hosted->replica);
    struct serving_view noted = serving_look(hosted->serving);
    const struct serving_view now = {.version = view.configuration.version,
                                     .role = view.role,
                                     .leads = view.serving,
                                     .damaged = view.trouble == REPLICA_IS_DAMAGED,
                                     .empty = view.configuration.version == 0 ||
                                              store_tablet_is_half_taught(hosted->tablet) ||
                                              store_tablet_is_torn(hosted->tablet)};
    if (now.version != noted.version || now.role != noted.role || now.leads != noted.leads ||
        now.damaged != noted.damaged || now.empty != noted.empty) {
        serving_note(hosted->serving, now);
        options->on_changed(options->context, hosted->tablet, &now);
    }
    if (view.standing.sequence != 0) {
        hosted_note_barrier(hosted, &view.standing);
    }
}

void hosted_perform(struct hosted *hosted, const struct replica_event *event)
{
    const struct replica_effects *effects = &hosted->host->effects;
    for (uint32_t i = 0; i < effects->count; i++) {
        perform(hosted, &effects->items[i], event);
    }
    hosted_note_view(hosted);
}

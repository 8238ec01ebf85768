#include "tabletserver/peer/beacons.h"

#include <pthread.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "common/io/metrics.h"
#include "common/io/thread.h"
#include "tabletserver/peer/beacon_due.h"
#include "tabletserver/peer/beacon_links.h"
#include "tabletserver/replica/lease_message.h"

#define ARENA_BLOCK_BYTES 4096
#define ARENA_BYTES_MAX   (UINT64_C(256) << 10) /* LEASE_EXCEPTIONS_MAX of them, and some more */
#define NO_MEMORY_WAIT_US 10000
#define NS_PER_MS         1000000
#define STUCK_LOOK_NS     (INT64_C(50) * NS_PER_MS)

enum note_type {
    NOTE_PEER,
    NOTE_GRANT,
    NOTE_EXCEPT,
    NOTE_BEACON, /* a request; the reply is ours to finish */
    NOTE_LINK,
    NOTE_ASK,
};

struct note {
    enum note_type type;
    uint64_t peer;
    uint64_t incarnation;
    uint64_t tablet;
    uint64_t version;
    char *address; /* PEER: owned; NULL = no longer one */
    struct lease_beacon beacon;
    struct transport_reply *reply;
    struct beacon_link_note link;
};

struct beacons {
    struct beacons_options options;
    struct mailbox *mailbox;
    struct lease *lease;
    struct beacon_links *links;
    struct transport_reply *answering; /* the request whose beacon is in the step */
    struct arena arena;
    atomic_uint_fast64_t asked; /* by beacons_ask() */
    atomic_bool ask_is_noted;   /* and the note not taken yet */
    uint64_t asked_told;        /* of it, to the lease; the beacon thread's */
    struct metric *not_given;
    struct lease_ends ends;
    pthread_t thread;
    atomic_bool stopping;
    bool started;
};

/* --- effects ------------------------------------------------------------------------------------- */

static void send_beacon(struct beacons *beacons, const struct lease_effect *effect)
{
    struct buffer message = BUFFER_INIT;
    request_head_encode(&(struct request_head){0}, &message);
    lease_beacon_encode(beacons->options.server, &effect->beacon, &message);
    if (message.failed) {
        buffer_deinit(&message); /* lost, as by a network */
        return;
    }
    beacon_links_send(beacons->links, effect->peer, &message);
}

static void acknowledge(struct beacons *beacons, const struct lease_effect *effect)
{
    struct buffer message = BUFFER_INIT;
    metric_add(beacons->not_given, effect->acknowledgement.gives_lease ? 0 : 1);
    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    lease_acknowledgement_encode(&effect->acknowledgement, &message);
    transport_reply_send(beacons->answering, &message, true);
    beacons->answering = NULL;
}

static void look_at_confirmed(const struct beacons *beacons)
{
    if (beacons->options.on_confirmed != NULL) {
        beacons->options.on_confirmed(beacons->options.context);
    }
}

/* Between a lease of one server and the grace of the other, whose settings do not go together. */
static void say_misfit(const struct lease_effect *effect, const char *event, const char *mend)
{
    LOG_EVENT(LOG_LEVEL_WARN, event, LOG_ID("server", effect->peer),
              LOG_I64("lease_ms", effect->lease_ns / NS_PER_MS),
              LOG_I64("grace_ms", effect->grace_ns / NS_PER_MS), LOG_TEXT("mend", mend));
}

static void perform(struct beacons *beacons, const struct lease_effects *effects)
{
    bool confirmed = false;
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct lease_effect *effect = &effects->items[i];
        switch (effect->type) {
        case LEASE_EFFECT_BEACON:
            send_beacon(beacons, effect);
            break;
        case LEASE_EFFECT_ACKNOWLEDGE:
            acknowledge(beacons, effect);
            break;
        case LEASE_EFFECT_HELD_UNTIL:
            lease_ends_set(&beacons->ends, effect->peer, effect->at_ns);
            break;
        case LEASE_EFFECT_PEER_RESTARTED: /* what was held is void, also for what it opens anew */
            lease_ends_set(&beacons->ends, effect->peer, 0);
            beacons->options.on_effect(beacons->options.context, effect);
            break;
        case LEASE_EFFECT_CONFIRMED:
            lease_ends_confirm(&beacons->ends, effect->peer, effect->asked);
            confirmed = true;
            break;
        case LEASE_EFFECT_NOT_GIVEN:
            say_misfit(effect, "lease_not_given",
                       "raise grace on this server, or bring that one to this build");
            break;
        case LEASE_EFFECT_SHORTENED:
            say_misfit(effect, "lease_shortened",
                       "raise grace on that server, or lower lease on this one");
            break;
        case LEASE_EFFECT_EXCEPTED_BY_PEER:
        case LEASE_EFFECT_EXCEPTED:
        case LEASE_EFFECT_SILENT:
            beacons->options.on_effect(beacons->options.context, effect);
            break;
        }
    }
    if (confirmed) {
        look_at_confirmed(beacons);
    }
}

/* A promise that was noted must not get lost, so without memory we wait for some; our leases may run
 * out meanwhile, which is safe. */
static void step(struct beacons *beacons, struct lease_event event)
{
    struct lease_effects effects;
    event.now_ns = clock_monotonic_ns();
    enum status status = lease_step(beacons->lease, &event, &effects);
    while (status == STATUS_NO_MEMORY && !atomic_load(&beacons->stopping)) {
        clock_sleep_us(NO_MEMORY_WAIT_US);
        event.now_ns = clock_monotonic_ns();
        status = lease_step(beacons->lease, &event, &effects);
    }
    if (status == STATUS_LIMIT &&
        event.type == LEASE_EVENT_PEER) { /* said once, not of each promise */
        LOG_EVENT(LOG_LEVEL_ERROR, "too_many_peers", LOG_ID("server", event.peer),
                  LOG_U64("limit", LEASE_PEERS_MAX));
    }
    if (status == STATUS_OK) {
        perform(beacons, &effects);
    }
}

/* --- notes ---------------------------------------------------------------------------------------- */

/* Whoever told of it will not do so again, and one that is not dialled gives no lease: so this waits for memory, too. */
static enum status link_peer(struct beacons *beacons, uint64_t peer, const char *address)
{
    enum status status = beacon_links_set(beacons->links, peer, address);
    while (status == STATUS_NO_MEMORY && !atomic_load(&beacons->stopping)) {
        clock_sleep_us(NO_MEMORY_WAIT_US);
        status = beacon_links_set(beacons->links, peer, address);
    }
    return status;
}

/* address NULL = no longer a peer. */
static void set_peer(struct beacons *beacons, uint64_t peer, const char *address)
{
    enum status status = link_peer(beacons, peer, address != NULL ? address : "");
    if (status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_ERROR, "peer_not_dialled", LOG_ID("server", peer),
                  LOG_TEXT("address", address != NULL ? address : ""),
                  LOG_TEXT("error", status_text(status)));
    }
    step(beacons,
         (struct lease_event){.type = LEASE_EVENT_PEER, .peer = peer, .present = address != NULL});
    if (address == NULL) {
        lease_ends_let_run_out(&beacons->ends, peer);
    }
}

static void on_peer(struct beacons *beacons, struct note *note)
{
    set_peer(beacons, note->peer, note->address);
    memory_free(note->address);
}

static bool is_stuck(const struct beacons *beacons)
{
    return beacons->options.is_stuck != NULL && beacons->options.is_stuck(beacons->options.context);
}

static void on_beacon(struct beacons *beacons, const struct note *note)
{
    if (is_stuck(beacons)) {
        transport_reply_fail(note->reply, STATUS_UNAVAILABLE, "a store of this server hangs");
        return;
    }
    beacons->answering = note->reply;
    step(beacons, (struct lease_event){
                      .type = LEASE_EVENT_BEACON, .peer = note->peer, .beacon = note->beacon});
    if (beacons->answering != NULL) { /* of a process that is gone, or of a stranger */
        transport_reply_fail(
            beacons->answering, STATUS_FAILED_PRECONDITION,
            "this server shares no tablet with that one, or knows a newer process");
        beacons->answering = NULL;
    }
}

static void on_link(struct beacons *beacons, struct note *note)
{
    struct response_head head;
    struct bytes body;
    struct lease_event event = {.type = LEASE_EVENT_ACKNOWLEDGEMENT, .peer = note->link.peer};

    arena_reset(&beacons->arena);
    if (beacon_links_take(beacons->links, &note->link) &&
        response_head_decode(buffer_bytes(&note->link.message), &head, &body, NULL) == STATUS_OK &&
        head.status == STATUS_OK &&
        lease_acknowledgement_decode(body, &beacons->arena, &event.acknowledgement, NULL) ==
            STATUS_OK) {
        step(beacons, event);
    }
    buffer_deinit(&note->link.message);
}

static void on_promise(struct beacons *beacons, const struct note *note)
{
    if (!beacon_links_has(beacons->links, note->peer)) { /* its address is not known yet */
        set_peer(beacons, note->peer, "");
    }
    step(beacons, (struct lease_event){.type = note->type == NOTE_GRANT ? LEASE_EVENT_GRANT
                                                                        : LEASE_EVENT_EXCEPT,
                                       .peer = note->peer,
                                       .incarnation = note->incarnation,
                                       .tablet = note->tablet,
                                       .version = note->version});
}

/* A question was noted in the mailbox.  Whoever asks from here on has to note it again. */
static void on_ask(struct beacons *beacons)
{
    atomic_store(&beacons->ask_is_noted, false);
    uint64_t asked = atomic_load(&beacons->asked);
    if (asked > beacons->asked_told) {
        beacons->asked_told = asked;
        step(beacons, (struct lease_event){.type = LEASE_EVENT_ASK, .asked = asked});
    }
}

static void on_note(struct beacons *beacons, struct note *note)
{
    switch (note->type) {
    case NOTE_PEER:
        on_peer(beacons, note);
        break;
    case NOTE_GRANT:
    case NOTE_EXCEPT:
        on_promise(beacons, note);
        break;
    case NOTE_BEACON:
        on_beacon(beacons, note);
        break;
    case NOTE_LINK:
        on_link(beacons, note);
        break;
    case NOTE_ASK:
        on_ask(beacons);
        break;
    }
}

/* Takes up questions, too: the mailbox may have been full when they were asked. */
static void on_tick(struct beacons *beacons)
{
    on_ask(beacons);
    step(beacons, (struct lease_event){.type = LEASE_EVENT_TICK});
    lease_ends_look_for_lapsed(&beacons->ends);
    look_at_confirmed(beacons);
}

static void *run(void *argument)
{
    struct beacons *beacons = argument;
    struct beacon_due due = beacon_due_begin();
    struct note note;

    thread_name_set("beacons");
    while (!atomic_load(&beacons->stopping)) {
        int64_t now_ns = clock_monotonic_ns();
        bool stuck = is_stuck(beacons);
        if (beacon_due_is_unsure(&due, now_ns)) {
            beacon_due_reckon(&due, lease_deadline_ns(beacons->lease), now_ns);
        }
        int64_t wake_ns = stuck ? now_ns + STUCK_LOOK_NS : beacon_due_wake_ns(&due);
        if (mailbox_take(beacons->mailbox, &note, 1, wake_ns) == 1) {
            on_note(beacons, &note);
            beacon_due_note_step(&due, false);
        }
        if (!stuck && clock_monotonic_ns() >= due.due_ns) {
            on_tick(beacons);
            beacon_due_note_step(&due, true);
        }
    }
    return NULL;
}

/* --- any thread ----------------------------------------------------------------------------------- */

bool beacons_set_peer(struct beacons *beacons, uint64_t peer, const char *address)
{
    struct note note = {.type = NOTE_PEER, .peer = peer};
    if (address != NULL) {
        size_t size_bytes = strlen(address) + 1;
        note.address = memory_allocate(size_bytes);
        if (note.address == NULL) {
            return false;
        }
        memcpy(note.address, address, size_bytes);
    }
    if (!mailbox_push(beacons->mailbox, &note)) {
        memory_free(note.address);
        return false;
    }
    return true;
}

bool beacons_grant(
    struct beacons *beacons, uint64_t peer, uint64_t incarnation, uint64_t tablet, uint64_t version)
{
    return mailbox_push(beacons->mailbox, &(struct note){.type = NOTE_GRANT,
                                                         .peer = peer,
                                                         .incarnation = incarnation,
                                                         .tablet = tablet,
                                                         .version = version});
}

bool beacons_except(struct beacons *beacons, uint64_t peer, uint64_t tablet, uint64_t version)
{
    return mailbox_push(
        beacons->mailbox,
        &(struct note){.type = NOTE_EXCEPT, .peer = peer, .tablet = tablet, .version = version});
}

const struct lease_end *beacons_lease_end(struct beacons *beacons, uint64_t peer)
{
    return lease_ends_want(&beacons->ends, peer);
}

/* The thread takes the note before it looks how often was asked, so one is enough for all who ask until then. */
uint64_t beacons_ask(struct beacons *beacons)
{
    uint64_t asked = atomic_fetch_add(&beacons->asked, 1) + 1;
    if (!atomic_exchange(&beacons->ask_is_noted, true) &&
        !mailbox_push(beacons->mailbox, &(struct note){.type = NOTE_ASK})) {
        atomic_store(&beacons->ask_is_noted, false);
    }
    return asked;
}

void beacons_on_request(struct beacons *beacons,
                        const struct transport_request *request,
                        struct transport_reply *reply)
{
    struct note note = {.type = NOTE_BEACON, .reply = reply};
    struct error error = {.status = STATUS_OK};
    if (lease_beacon_decode(request->body, &note.peer, &note.beacon, &error) != STATUS_OK) {
        transport_reply_fail(reply, error.status, error.text);
    } else if (!mailbox_push(beacons->mailbox, &note)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is stopping, or far too busy");
    }
}

static bool push_link_note(void *context, struct beacon_link_note *link)
{
    struct beacons *beacons = context;
    const struct note note = {.type = NOTE_LINK, .link = *link};
    if (mailbox_push(beacons->mailbox, &note)) {
        return true;
    }
    buffer_deinit(&link->message);
    return false;
}

/* --- life ------------------------------------------------------------------------------------------ */

static bool make_parts(struct beacons *beacons)
{
    const struct mailbox_settings mailbox = {.item_bytes = sizeof(struct note),
                                             .capacity = BEACONS_MAILBOX_CAPACITY};
    return mailbox_create(&mailbox, &beacons->mailbox) == STATUS_OK &&
           lease_create(&beacons->options.lease, beacons->options.incarnation, clock_monotonic_ns(),
                        &beacons->lease) == STATUS_OK &&
           beacon_links_create(beacons->options.server, push_link_note, beacons, &beacons->links) ==
               STATUS_OK;
}

enum status beacons_create(const struct beacons_options *options,
                           struct beacons **ret_beacons,
                           struct error *ret_error)
{
    enum status status = lease_settings_check(&options->lease, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct beacons *beacons = memory_allocate_zeroed(1, sizeof *beacons);
    if (beacons == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for leases");
    }
    beacons->options = *options;
    arena_init(&beacons->arena, ARENA_BLOCK_BYTES, ARENA_BYTES_MAX);
    beacons->not_given = metric_counter(
        "edubba_leases_not_given_total", "",
        "Beacons of other servers that were acknowledged without a lease.");
    lease_ends_init(&beacons->ends);
    if (!make_parts(beacons)) {
        beacons_destroy(beacons);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for leases");
    }
    *ret_beacons = beacons;
    return STATUS_OK;
}

enum status beacons_start(struct beacons *beacons, struct error *ret_error)
{
    if (pthread_create(&beacons->thread, NULL, run, beacons) != 0) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the thread of leases");
    }
    beacons->started = true;
    return STATUS_OK;
}

static void forget(struct note *note)
{
    if (note->type == NOTE_BEACON) {
        transport_reply_fail(note->reply, STATUS_UNAVAILABLE, "the server is stopping");
    }
    buffer_deinit(&note->link.message);
    memory_free(note->address);
}

void beacons_stop(struct beacons *beacons)
{
    struct note note;
    if (beacons == NULL || !beacons->started) {
        return;
    }
    atomic_store(&beacons->stopping, true);
    mailbox_close(beacons->mailbox);
    pthread_join(beacons->thread, NULL);
    beacons->started = false;
    beacon_links_destroy(beacons->links);
    beacons->links = NULL;
    while (mailbox_take(beacons->mailbox, &note, 1, 0) == 1) {
        forget(&note);
    }
}

void beacons_destroy(struct beacons *beacons)
{
    if (beacons == NULL) {
        return;
    }
    beacons_stop(beacons);
    beacon_links_destroy(beacons->links);
    lease_destroy(beacons->lease);
    mailbox_destroy(beacons->mailbox);
    lease_ends_deinit(&beacons->ends);
    arena_deinit(&beacons->arena);
    memory_free(beacons);
}

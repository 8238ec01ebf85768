/*
 * From appended to committed, and from full to frozen.
 *
 * The log's thread reports a position; the loop turns it into committed sequences, tablet by
 * tablet, in order.  Freezing lives here too: it is what the loop does once per round.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/flush/flush_choice.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"

#define PRESSURE_NUMERATOR   3 /* flush without pause, and freeze more, above 3/4 of the limit */
#define PRESSURE_DENOMINATOR 4
#define HEADROOM_SHARE       16 /* of the limit: for what is appended before the next look */
#define LAG_SHARE            32 /* and in large transactions, where so much more would make writers wait */
#define AGE_CHECKS_PER_LIMIT 16

void store_on_synced(void *context, uint64_t position)
{
    struct store *store = context;
    atomic_store_explicit(&store->synced_position, position, memory_order_release);
    store->callbacks.wake(store->callbacks.context);
}

void store_on_log_failed(void *context, const struct error *error)
{
    store_trouble_fail(context, error);
}

/* --- memory ------------------------------------------------------------------------------------- */

void store_count_memory(struct store *store, struct store_layer *layer)
{
    size_t before = atomic_load_explicit(&layer->bytes, memory_order_relaxed);
    size_t now = memtable_bytes(layer->memtable);
    if (now != before) {
        atomic_store_explicit(&layer->bytes, now, memory_order_relaxed);
        atomic_fetch_add_explicit(&store->memory_bytes, now - before, memory_order_relaxed);
        if (now > atomic_load_explicit(&store->largest_bytes, memory_order_relaxed)) {
            atomic_store(&store->largest_bytes, now);
        }
    }
}

uint64_t store_memory_limit(const struct store *store)
{
    return atomic_load_explicit(&store->memory_limit_bytes, memory_order_relaxed);
}

bool store_memory_presses(const struct store *store)
{
    return atomic_load_explicit(&store->memory_bytes, memory_order_relaxed) >
           store_memory_limit(store) / PRESSURE_DENOMINATOR * PRESSURE_NUMERATOR;
}

/* Would there be room for so much more? */
static bool is_below_headroom(const struct store *store, uint64_t more_bytes)
{
    uint64_t limit = store_memory_limit(store);
    return atomic_load(&store->memory_bytes) + atomic_load(&store->due_bytes) + more_bytes <
           limit - limit / HEADROOM_SHARE;
}

bool store_flush_lags(const struct store *store)
{
    return !is_below_headroom(store, store_memory_limit(store) / LAG_SHARE);
}

bool store_has_room(struct store *store)
{
    /* A full disk is no matter of waiting: then each write is judged by itself. */
    bool has_room = is_below_headroom(store, 0) || store_condition_now(store) != STORE_HEALTHY;
    if (!has_room) {
        store_freeze_full_tablets(store);
        atomic_store(&store->room_wanted,
                     true); /* first: what comes free after the look wakes us */
        has_room = is_below_headroom(store, 0);
    }
    if (has_room && atomic_load_explicit(&store->room_wanted, memory_order_relaxed)) {
        atomic_store(&store->room_wanted, false);
    }
    return has_room;
}

/* --- freezing ----------------------------------------------------------------------------------- */

/*
 * The exactly-once records that go to the base with a layer.  An image holds committed records
 * only, so it is taken once all of the layer is committed; records of later ones in it do no harm.
 */
static bool take_image(struct store_tablet *tablet, struct store_layer *layer)
{
    buffer_reset(&layer->dedupe);
    dedupe_encode(tablet->dedupe, &layer->dedupe);
    if (layer->dedupe.failed) {
        buffer_deinit(&layer->dedupe);
        return false;
    }
    layer->image_due = false;
    return true;
}

enum status store_freeze(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    struct store_layer *active = tablet->layers[0];
    if (atomic_load_explicit(&active->first_position, memory_order_relaxed) ==
        STORE_POSITION_NONE) {
        return STATUS_OK;
    }
    if (tablet->layer_count >= STORE_LAYERS_MAX || tablet->learn.replaces ||
        store_tablet_prepared(tablet) < tablet->hold_until) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    struct store_layer *fresh = NULL;
    enum status status = store_layer_create(tablet->descriptor.tablet, &fresh);
    if (status != STATUS_OK) {
        return status;
    }
    memtable_expect(fresh->memtable, memtable_shared_prefix(active->memtable));
    active->last_sequence = store_tablet_prepared(tablet);
    fresh->after_sequence = active->last_sequence;
    active->image_due = true;
    if (active->last_sequence <= store_tablet_committed(tablet) && !take_image(tablet, active)) {
        store_layer_unref(store, fresh);
        return STATUS_NO_MEMORY;
    }
    active->clock = atomic_load_explicit(&tablet->clock, memory_order_relaxed);
    atomic_fetch_add(&store->frozen_bytes, atomic_load(&active->bytes));
    (void)pthread_mutex_lock(&tablet->mutex);
    active->frozen = true;
    for (uint32_t i = tablet->layer_count; i > 0; i--) {
        tablet->layers[i] = tablet->layers[i - 1];
    }
    tablet->layers[0] = fresh;
    tablet->layer_count++;
    tablet->freeze_count++;
    struct flush_event event = {.kind = FLUSH_EVENT_FROZEN, .last_sequence = active->last_sequence};
    (void)flush_progress_step(&tablet->progress, &event);
    (void)pthread_mutex_unlock(&tablet->mutex);
    flush_list(tablet);
    store_work_wake(store);
    return STATUS_OK;
}

bool store_is_full(const struct store_tablet *tablet)
{
    const struct store *store = tablet->store;
    const struct store_layer *active = tablet->layers[0];
    uint64_t first = atomic_load_explicit(&active->first_position, memory_order_relaxed);
    if (first == STORE_POSITION_NONE) {
        return false;
    }
    return memtable_bytes(active->memtable) >= store->settings.memtable_limit_bytes ||
           store->log_position - first >= store->settings.log_limit_bytes;
}

/* What its active memtable would free; 0 where it may not be frozen now.  One behind damage would free nothing. */
static size_t active_bytes(const struct store_tablet *tablet)
{
    bool may_freeze = tablet->layer_count < STORE_LAYERS_MAX &&
                      !atomic_load_explicit(&tablet->flush_stuck, memory_order_relaxed) &&
                      store_tablet_prepared(tablet) >= tablet->hold_until;
    return may_freeze ? memtable_bytes(tablet->layers[0]->memtable) : 0;
}

static size_t largest_active_bytes(struct store *store)
{
    size_t largest_bytes = 0;
    atomic_fetch_add(&store->looked_at, store->tablet_count);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        size_t bytes = active_bytes(store->tablets[i]);
        largest_bytes = bytes > largest_bytes ? bytes : largest_bytes;
    }
    return largest_bytes;
}

static uint64_t stuck_bytes(const struct store *store)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; atomic_load(&store->flush_stuck) && i < store->tablet_count; i++) {
        const struct store_tablet *tablet = store->tablets[i];
        for (uint32_t j = 1; atomic_load(&tablet->flush_stuck) && j < tablet->layer_count; j++) {
            bytes += atomic_load(&tablet->layers[j]->bytes);
        }
    }
    return bytes;
}

/* On their way out, that is: not what damage holds up, or for that all others would stay in memory. */
static bool is_enough_frozen(const struct store *store)
{
    uint64_t enough_bytes = store_memory_limit(store) / PRESSURE_DENOMINATOR;
    uint64_t frozen_bytes = atomic_load(&store->frozen_bytes);
    return frozen_bytes >= enough_bytes && frozen_bytes >= enough_bytes + stuck_bytes(store);
}

/* False: nothing, or not all that it tried. */
static bool freeze_of_size(struct store *store, size_t least_bytes)
{
    bool any = false;
    atomic_fetch_add(&store->looked_at, store->tablet_count);
    for (uint32_t i = 0; i < store->tablet_count && !is_enough_frozen(store); i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (active_bytes(tablet) >= least_bytes) {
            if (store_freeze(tablet) != STATUS_OK) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

/* Short of memory: let a quarter of the limit be on its way out, the largest first, by halves of size: to look for the
 * largest of all again after each would take seconds where the quarter is some thousands of small ones. */
static void freeze_for_memory(struct store *store)
{
    bool more = true;
    while (more && !is_enough_frozen(store)) {
        size_t largest_bytes = largest_active_bytes(store);
        more = largest_bytes > 0 && freeze_of_size(store, largest_bytes / 2 + 1);
    }
}

void store_freeze_full_tablets(struct store *store)
{
    /* Age is checked for all tablets now and then; size for those that were written to. */
    if (store->log_position - store->log_position_checked >=
        store->settings.log_limit_bytes / AGE_CHECKS_PER_LIMIT) {
        store->log_position_checked = store->log_position;
        store_ask_metas(store, false);
        store_trim_marks(store);
        for (uint32_t i = 0; i < store->tablet_count; i++) {
            if (store_is_full(store->tablets[i])) {
                /* Without memory, or with all layers in use, it is tried again next time. */
                (void)store_freeze(store->tablets[i]);
            }
        }
    }
    if (store_memory_presses(store)) {
        freeze_for_memory(store);
    }
}

void store_freeze_for_room(struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->layer_count == 1) {
            (void)store_freeze(store->tablets[i]); /* asked for again while the disk is full */
        }
    }
}

void store_flush_soon(struct store_tablet *tablet)
{
    tablet->flush_wanted = store_freeze(tablet) != STATUS_OK;
    tablet->store->flush_wanted = tablet->store->flush_wanted || tablet->flush_wanted;
}

void store_flush_all(struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        store_flush_soon(store->tablets[i]);
    }
    store_ask_metas(store, true);
    store_commit(store);
}

void store_commit(struct store *store)
{
    log_commit(store->log);
    for (struct store_tablet *t = store->pending_tablets; t != NULL; t = t->pending_next) {
        if (store_is_full(t)) {
            (void)store_freeze(t);
        }
    }
    store_freeze_full_tablets(store);
}

/* --- committing --------------------------------------------------------------------------------- */

void store_raise_floor(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    uint64_t floor = store_read_floor(tablet);
    (void)pthread_mutex_unlock(&tablet->mutex);
    memtable_raise_floor(tablet->layers[0]->memtable, floor);
}

/* Take the images that have become due up to sequence; how far flushing may go. */
static uint64_t take_images(struct store_tablet *tablet, uint64_t sequence)
{
    for (uint32_t i = tablet->layer_count; i > 1; i--) {
        struct store_layer *layer = tablet->layers[i - 1];
        if (layer->image_due && layer->last_sequence <= sequence && !take_image(tablet, layer)) {
            return layer->last_sequence - 1;
        }
    }
    return sequence;
}

bool store_advance(struct store_tablet *tablet, uint64_t sequence)
{
    ASSERT(sequence <= store_tablet_prepared(tablet));
    dedupe_commit(tablet->dedupe, sequence);
    uint64_t flushable = take_images(tablet, sequence);
    (void)pthread_mutex_lock(&tablet->mutex);
    atomic_store_explicit(&tablet->committed, sequence, memory_order_release);
    store_barriers_forget(&tablet->barriers,
                          tablet->layers[tablet->layer_count - 1]->after_sequence);
    bool run = false;
    if (flushable >= tablet->progress.committed) {
        struct flush_event event = {.kind = FLUSH_EVENT_COMMITTED, .last_sequence = flushable};
        run = flush_progress_step(&tablet->progress, &event) == FLUSH_RUN;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    if (run) {
        store_work_wake(tablet->store);
    }
    store_raise_floor(tablet);
    return flushable == sequence;
}

/* How far the tablet has come with the log synced to `synced`; 0 = no further. */
static uint64_t take_synced(struct store_tablet *tablet, uint64_t synced)
{
    uint64_t sequence = 0;
    while (tablet->pending_count > 0) {
        struct store_pending *first = &tablet->pending[tablet->pending_head];
        if (first->position >= synced) {
            break;
        }
        sequence = first->sequence;
        tablet->pending_head = (tablet->pending_head + 1) & (tablet->pending_capacity - 1);
        tablet->pending_count--;
    }
    return sequence;
}

static void finish_split(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    if (store_split_apply(tablet) != STATUS_OK) {
        return; /* without memory: tried again at the next poll */
    }
    store->callbacks.on_split(store->callbacks.context, tablet, tablet->split.children[0],
                              tablet->split.children[1]);
}

/* Does the caller hear of the tablet?  Not when it is being dropped, or its children serve. */
static bool is_there(const struct store_tablet *tablet)
{
    enum store_tablet_state state = atomic_load(&tablet->state);
    return state != STORE_TABLET_DROPPING && state != STORE_TABLET_SPLIT;
}

/* Who is alone commits what is synced.  False: something is left for want of memory or layers. */
static bool commit_alone(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    bool serving = is_there(tablet);
    uint64_t before = store_tablet_committed(tablet);
    bool done = true;
    if (tablet->window.count > 0) { /* it was not, a moment ago */
        done = store_commit_up_to(tablet, tablet->synced) == STATUS_OK;
    }
    uint64_t prepared = store_tablet_prepared(tablet);
    uint64_t sequence = tablet->synced < prepared ? tablet->synced : prepared;
    bool advanced = store_advance(tablet, sequence);
    if (sequence > before && serving) {
        store->callbacks.on_committed(store->callbacks.context, tablet, sequence);
    }
    if (atomic_load(&tablet->state) == STORE_TABLET_BARRIER &&
        store_tablet_committed(tablet) == tablet->split.sequence) {
        finish_split(tablet);
    }
    return done && advanced;
}

/* A tablet with other members: say what is synced here; what is committed will be told (store_tablet_commit()). */
static bool tell_synced(struct store_tablet *tablet, uint64_t sequence)
{
    struct store *store = tablet->store;
    bool advanced = store_advance(tablet, store_tablet_committed(tablet));
    if (sequence != 0 && is_there(tablet)) {
        store->callbacks.on_synced(store->callbacks.context, tablet, sequence);
    }
    return advanced;
}

/* False: there is something to wait for. */
static bool settle(struct store_tablet *tablet, uint64_t synced)
{
    struct store *store = tablet->store;
    uint64_t sequence = take_synced(tablet, synced);
    if (sequence != 0) {
        tablet->synced = sequence;
    }
    if (store_settle_configuration(tablet, synced)) {
        store_conversion_settle(tablet);
        if (is_there(tablet)) {
            store->callbacks.on_configured(store->callbacks.context, tablet);
        }
    }
    bool alone = atomic_load_explicit(&tablet->alone, memory_order_relaxed);
    bool done = alone ? commit_alone(tablet) : tell_synced(tablet, sequence);
    return done && tablet->pending_count == 0 &&
           tablet->configuring_position == STORE_POSITION_NONE &&
           atomic_load(&tablet->state) != STORE_TABLET_BARRIER;
}

void store_commit_synced(struct store *store)
{
    uint64_t synced = atomic_load_explicit(&store->synced_position, memory_order_acquire);
    struct store_tablet *list = store->pending_tablets;
    store->pending_tablets = NULL;
    while (list != NULL) {
        struct store_tablet *tablet = list;
        list = tablet->pending_next;
        tablet->pending_next = NULL;
        if (!settle(tablet, synced)) {
            tablet->pending_next = store->pending_tablets;
            store->pending_tablets = tablet;
        } else {
            tablet->pending_listed = false;
            store_tablet_unref(tablet);
        }
    }
}

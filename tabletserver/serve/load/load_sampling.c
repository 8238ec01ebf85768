#include "tabletserver/serve/load/load_sampling.h"

#include "common/base/memory.h"
#include "tabletserver/tablet/key_sampler.h"

struct place {
    struct load_counters *owner; /* NULL = free; may be gone unless it was seen */
    struct key_ring *ring;
    struct key_sampler sampler;
    uint64_t table;
    struct buffer start; /* of the tablet */
    struct load_counts counts;
    int64_t busy_ns; /* when it was busy last */
    bool seen;
    bool busy;
    bool fresh; /* it was given away in this report: nothing can have come yet */
};

struct load_sampling {
    struct place *places[LOAD_SAMPLING_PLACES_MAX];
    uint32_t place_count;
    uint64_t seed;
    int64_t now_ns;
    uint64_t elapsed_ns;
    uint32_t samples_wanted; /* a second, of a tablet and kind */
    struct key_samples samples;
};

enum status load_sampling_create(uint64_t seed, struct load_sampling **ret_sampling)
{
    struct load_sampling *sampling = memory_allocate_zeroed(1, sizeof *sampling);
    if (sampling == NULL) {
        return STATUS_NO_MEMORY;
    }
    sampling->seed = seed;
    sampling->samples_wanted = LOAD_SAMPLING_SAMPLES_MAX;
    *ret_sampling = sampling;
    return STATUS_OK;
}

static void place_destroy(struct place *place)
{
    key_ring_destroy(place->ring);
    key_sampler_deinit(&place->sampler);
    buffer_deinit(&place->start);
    memory_free(place);
}

void load_sampling_destroy(struct load_sampling *sampling)
{
    if (sampling != NULL) {
        for (uint32_t i = 0; i < sampling->place_count; i++) {
            place_destroy(sampling->places[i]);
        }
        memory_free(sampling);
    }
}

/* --- places ------------------------------------------------------------------------------------- */

static struct place *place_create(uint64_t seed)
{
    struct place *place = memory_allocate_zeroed(1, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    if (key_sampler_init(&place->sampler, seed) != STATUS_OK) {
        memory_free(place);
        return NULL;
    }
    if (key_ring_create(&place->ring) != STATUS_OK) {
        place_destroy(place);
        return NULL;
    }
    return place;
}

/* Its tablet, if it has one, is there: or nobody looks at its counters any more. */
static void let_go(struct place *place, bool tablet_is_there)
{
    if (place->owner != NULL && tablet_is_there) {
        atomic_store_explicit(&place->owner->ring, NULL, memory_order_release);
    }
    key_ring_assign(place->ring, NULL);
    place->owner = NULL;
}

static uint64_t work_of(const struct load_counts *counts)
{
    return counts->read.reads + counts->read.rows + counts->write.writes;
}

/* The one that does least of those that were seen already: of others nobody knows if they are there. */
static uint32_t least_busy(const struct load_sampling *sampling)
{
    uint32_t found = LOAD_SAMPLING_NO_PLACE;
    for (uint32_t i = 0; i < sampling->place_count; i++) {
        const struct place *place = sampling->places[i];
        if (place->seen && (found == LOAD_SAMPLING_NO_PLACE ||
                            work_of(&place->counts) < work_of(&sampling->places[found]->counts))) {
            found = i;
        }
    }
    return found;
}

static uint32_t find_place(struct load_sampling *sampling, const struct load_counts *counts)
{
    for (uint32_t i = 0; i < sampling->place_count; i++) {
        if (sampling->places[i]->owner == NULL) {
            return i;
        }
    }
    if (sampling->place_count < LOAD_SAMPLING_PLACES_MAX) {
        struct place *place = place_create(sampling->seed + sampling->place_count);
        if (place == NULL) {
            return LOAD_SAMPLING_NO_PLACE;
        }
        sampling->places[sampling->place_count] = place;
        return sampling->place_count++;
    }
    uint32_t least = least_busy(sampling);
    if (least == LOAD_SAMPLING_NO_PLACE ||
        work_of(&sampling->places[least]->counts) >= work_of(counts) / 2) {
        return LOAD_SAMPLING_NO_PLACE;
    }
    let_go(sampling->places[least], true);
    return least;
}

/* A power of two, so that about as many samples as are wanted come of so many touches a second. */
static uint32_t every_for(const struct load_sampling *sampling, uint64_t touches)
{
    uint64_t period_ns = sampling->elapsed_ns > 0 ? sampling->elapsed_ns : 1;
    double rate = (double)touches / ((double)period_ns / 1e9);
    uint32_t every = 1;
    while (every < KEY_RING_EVERY_MAX && rate / every > sampling->samples_wanted) {
        every *= 2;
    }
    return every;
}

/* What is known of the tablet's rows: by places of such as it was made of, which may be gone, or free by now. */
static void look_at_parents(const struct load_sampling *sampling,
                            const struct store_tablet_descriptor *tablet,
                            struct sampled_top *top)
{
    for (uint32_t i = 0; i < sampling->place_count; i++) {
        const struct place *place = sampling->places[i];
        if (place->table == tablet->table &&
            sampling->now_ns - place->busy_ns <= KEY_SAMPLER_WINDOW_NS) {
            key_sampler_look(&place->sampler, &tablet->range, top);
        }
    }
}

/* It was led elsewhere until now, or had nothing to do: nobody here knows what was written of late.  But all that
 * was written is here, and what is above that is appended. */
static void look_at_rows(struct store_tablet *tablet, struct sampled_top *top)
{
    bool found = false;
    if (top->count == 0 && store_tablet_last_row(tablet, &top->row, &found) == STATUS_OK && found) {
        top->count = KEY_SAMPLER_JUDGED_MIN;
    }
}

static uint32_t settle(struct load_sampling *sampling,
                       struct store_tablet *tablet,
                       const struct load_counts *counts)
{
    const struct store_tablet_descriptor *descriptor = store_tablet_describe(tablet);
    struct sampled_top top = SAMPLED_TOP_INIT;
    uint32_t at = find_place(sampling, counts);
    if (at == LOAD_SAMPLING_NO_PLACE) {
        return at;
    }
    struct place *place = sampling->places[at];
    buffer_reset(&place->start);
    buffer_append_bytes(&place->start, descriptor->range.start);
    if (place->start.failed) {
        return LOAD_SAMPLING_NO_PLACE;
    }
    look_at_parents(sampling, descriptor, &top);
    look_at_rows(tablet, &top);
    place->owner = store_tablet_load(tablet);
    place->table = descriptor->table;
    place->fresh = true;
    key_sampler_begin(&place->sampler, &top);
    key_ring_assign(place->ring, place->owner);
    key_ring_set_every(place->ring, KEY_READ, every_for(sampling, counts->read.rows));
    key_ring_set_every(place->ring, KEY_WRITTEN, every_for(sampling, counts->write.writes));
    key_ring_set_every(place->ring, KEY_SCANNED, every_for(sampling, counts->read.reads));
    atomic_store_explicit(&place->owner->ring, place->ring, memory_order_release);
    return at;
}

/* --- a report ----------------------------------------------------------------------------------- */

void load_sampling_begin(struct load_sampling *sampling, int64_t now_ns, uint64_t elapsed_ns)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < sampling->place_count; i++) {
        used += sampling->places[i]->owner != NULL ? 1 : 0;
        sampling->places[i]->seen = false;
        sampling->places[i]->busy = false;
        sampling->places[i]->fresh = false;
    }
    uint32_t wanted = LOAD_SAMPLING_BUDGET / (used > 0 ? used : 1);
    wanted = wanted < LOAD_SAMPLING_SAMPLES_MAX ? wanted : LOAD_SAMPLING_SAMPLES_MAX;
    sampling->samples_wanted = wanted > LOAD_SAMPLING_SAMPLES_MIN ? wanted
                                                                  : LOAD_SAMPLING_SAMPLES_MIN;
    sampling->now_ns = now_ns;
    sampling->elapsed_ns = elapsed_ns;
}

static bool is_busy(const struct load_sampling *sampling, const struct load_counts *counts)
{
    const struct load_read_counts *read = &counts->read;
    const struct load_write_counts *write = &counts->write;
    double seconds = (double)sampling->elapsed_ns / 1e9;

    return (double)(read->reads + write->writes) >= LOAD_SAMPLING_BUSY_OPS * seconds ||
           (double)read->rows >= LOAD_SAMPLING_BUSY_ROWS * seconds ||
           (double)(read->bytes + write->bytes) >= LOAD_SAMPLING_BUSY_BYTES * seconds ||
           (double)(read->busy_ns + read->evaluate_ns) >=
               LOAD_SAMPLING_BUSY_PERCENT * 1e7 * seconds;
}

/* Only places that have an owner are compared: the owner of a ring is written by this thread alone. */
static uint32_t place_of(const struct load_sampling *sampling, const struct load_counters *counters)
{
    const struct key_ring *ring = load_counters_ring(counters);
    for (uint32_t i = 0; ring != NULL && i < sampling->place_count; i++) {
        if (sampling->places[i]->ring == ring && sampling->places[i]->owner == counters) {
            return i;
        }
    }
    return LOAD_SAMPLING_NO_PLACE;
}

uint32_t load_sampling_see(struct load_sampling *sampling,
                           struct store_tablet *tablet,
                           const struct load_counts *counts)
{
    uint32_t at = place_of(sampling, store_tablet_load(tablet));
    bool busy = sampling->elapsed_ns > 0 && is_busy(sampling, counts);

    if (at == LOAD_SAMPLING_NO_PLACE && busy) {
        at = settle(sampling, tablet, counts);
    }
    if (at == LOAD_SAMPLING_NO_PLACE) {
        return at;
    }
    struct place *place = sampling->places[at];
    place->seen = true;
    place->busy = busy;
    place->counts = *counts;
    place->busy_ns = busy ? sampling->now_ns : place->busy_ns;
    if (sampling->now_ns - place->busy_ns > LOAD_SAMPLING_IDLE_NS) {
        let_go(place, true);
        at = LOAD_SAMPLING_NO_PLACE;
    }
    return at;
}

/* Of each kind: what came stands for what did not fit, too; and the next second's rate is this one's. */
static void take(struct load_sampling *sampling, struct place *place)
{
    struct key_samples *samples = &sampling->samples;
    double weights[KEY_TOUCH_COUNT] = {0};
    uint32_t taken[KEY_TOUCH_COUNT] = {0};

    key_ring_drain(place->ring, samples);
    for (uint32_t i = 0; i < samples->count; i++) {
        taken[samples->samples[i].touch] += 1;
    }
    for (int i = 0; i < KEY_TOUCH_COUNT; i++) {
        uint32_t every = key_ring_every(place->ring, (enum key_touch)i);
        double touches = (double)every * samples->offered[i];
        weights[i] = taken[i] > 0 ? touches / taken[i] : 0;
        key_ring_set_every(place->ring, (enum key_touch)i, every_for(sampling, (uint64_t)touches));
    }
    key_sampler_take(&place->sampler, samples->samples, samples->count, weights,
                     sampling->elapsed_ns);
}

void load_sampling_end(struct load_sampling *sampling)
{
    for (uint32_t i = 0; i < sampling->place_count; i++) {
        struct place *place = sampling->places[i];
        if (place->owner != NULL && !place->seen) {
            let_go(place, false);
        } else if (place->owner != NULL && !place->fresh) {
            take(sampling, place);
        }
    }
}

struct load_detail load_sampling_detail(struct load_sampling *sampling, uint32_t at)
{
    if (at == LOAD_SAMPLING_NO_PLACE || !sampling->places[at]->busy) {
        return (struct load_detail){0};
    }
    struct place *place = sampling->places[at];
    return key_sampler_detail(&place->sampler, &(struct key_sampler_period){
                                                   .start = buffer_bytes(&place->start),
                                                   .reads = place->counts.read.rows,
                                                   .writes = place->counts.write.writes,
                                                   .elapsed_ns = sampling->elapsed_ns,
                                               });
}

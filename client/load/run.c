/* A phase: what it needs, its start and its end. */
#include "client/load/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/load/core/random.h"
#include "client/load/core/value.h"
#include "client/load/starter.h"

static bool has(const struct load_run *run, enum load_kind kind)
{
    return run->workload->percent[kind] > 0;
}

static bool make_shared(struct load_run *run)
{
    const struct load_options *options = run->options;
    bool inserts = has(run, LOAD_INSERT) && !run->is_load;
    uint64_t in_flight = inserts ? run->client_count * run->in_flight : 0;
    uint64_t new_rows = run->operations * run->workload->percent[LOAD_INSERT] / 100 * 2;
    run->pool = malloc((size_t)2 * LOAD_VALUE_POOL_BYTES);
    run->fields = calloc(options->fields, sizeof *run->fields);
    if (run->pool == NULL || run->fields == NULL ||
        !load_inserts_init(&run->inserts, run->is_load ? 0 : options->records, in_flight)) {
        return false;
    }
    load_value_pool_fill(run->pool);
    load_fields_make(run->keys, run->fields, options->fields);
    run->shape = (struct load_shape){run->pool, run->fields, options->value_bytes};
    load_scrambled_init(&run->scrambled, options->zipfian);
    load_zipfian_init(&run->zipfian, options->records, options->zipfian);
    run->choices = options->records + (inserts ? new_rows : 0);
    return true;
}

static bool make_slots(struct load_run *run, struct load_client *client, uint64_t seed)
{
    const struct load_options *options = run->options;
    client->run = run;
    client->slots = calloc(run->in_flight, sizeof *client->slots);
    client->tallies = calloc(LOAD_KINDS, sizeof *client->tallies);
    if (client->slots == NULL || client->tallies == NULL) {
        return false;
    }
    for (int i = 0; i < LOAD_SHEETS && run->batch > 1; i++) {
        if (!load_sheet_init(&client->sheets[i], run)) {
            return false;
        }
    }
    for (uint64_t i = 0; i < run->in_flight; i++) {
        struct load_slot *slot = &client->slots[i];
        slot->client = client;
        slot->random = load_mix(seed + i);
        slot->items = calloc(run->batch, sizeof *slot->items);
        slot->mutations = calloc(options->fields, sizeof *slot->mutations);
        slot->values = malloc(options->fields * options->value_bytes);
        if (slot->items == NULL || slot->mutations == NULL || slot->values == NULL) {
            return false;
        }
        for (uint64_t j = 0; j < run->batch; j++) {
            slot->items[j].slot = slot;
        }
        if (options->one_field) {
            slot->filter = edubba_filter_qualifier_regex(
                edubba_bytes_of(run->fields[0].name, run->fields[0].size));
        }
    }
    return true;
}

static bool make_starters(struct load_run *run)
{
    run->starters = calloc(run->thread_count + 1, sizeof *run->starters);
    if (run->starters == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < run->client_count && run->thread_count > 0; i++) {
        struct load_client *client = &run->clients[i];
        struct load_starter *starter = &run->starters[i % run->thread_count];
        client->starter = starter;
        starter->run = run;
        for (uint64_t j = 0; j < run->in_flight; j++) {
            load_starter_add(starter, &client->slots[j]);
        }
    }
    return true;
}

bool load_run_init(struct load_run *run)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    bool good = make_shared(run);
    for (uint64_t i = 0; good && i < run->client_count; i++) {
        good = make_slots(run, &run->clients[i], load_mix(run->options->seed + (i << 32)));
    }
    return good && make_starters(run);
}

static void free_slots(struct load_run *run, struct load_client *client)
{
    for (uint64_t i = 0; client->slots != NULL && i < run->in_flight; i++) {
        struct load_slot *slot = &client->slots[i];
        free(slot->items);
        free(slot->mutations);
        free(slot->values);
        edubba_filter_free(slot->filter);
    }
    for (int i = 0; i < LOAD_SHEETS; i++) {
        load_sheet_deinit(&client->sheets[i]);
    }
    free(client->slots);
    free(client->tallies);
    client->slots = NULL;
    client->tallies = NULL;
    client->starter = NULL;
    client->free = NULL;
    client->next = NULL;
}

void load_run_deinit(struct load_run *run)
{
    for (uint64_t i = 0; i < run->client_count; i++) {
        free_slots(run, &run->clients[i]);
    }
    free(run->starters);
    free(run->pool);
    free(run->fields);
    load_inserts_deinit(&run->inserts);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
}

bool load_run_start(struct load_run *run)
{
    run->active = run->client_count * run->in_flight;
    run->begun_ns = load_now_ns();
    for (uint64_t i = 0; i < run->thread_count; i++) {
        struct load_starter *starter = &run->starters[i];
        starter->schedule = (struct load_schedule){run->begun_ns, run->rate, i, run->thread_count};
        if (!load_starter_start(starter)) {
            atomic_store(&run->stop, true);
            return false;
        }
    }
    if (run->thread_count > 0) {
        return true;
    }
    /* Slot by slot over the clients, so that none is ahead. */
    for (uint64_t j = 0; j < run->in_flight; j++) {
        for (uint64_t i = 0; i < run->client_count; i++) {
            load_slot_go(&run->clients[i].slots[j]);
        }
    }
    return true;
}

bool load_run_wait(struct load_run *run, int64_t until_ns)
{
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int timed_out = 0;
    pthread_mutex_lock(&run->lock);
    while (run->active > 0 && timed_out == 0) {
        timed_out = pthread_cond_timedwait(&run->changed, &run->lock, &until);
    }
    bool ended = run->active == 0;
    pthread_mutex_unlock(&run->lock);
    for (uint64_t i = 0; ended && i < run->thread_count; i++) {
        load_starter_join(&run->starters[i]);
    }
    return ended;
}

void load_run_gather(const struct load_run *run, struct load_tally *ret_tallies)
{
    memset(ret_tallies, 0, LOAD_KINDS * sizeof *ret_tallies);
    for (uint64_t i = 0; i < run->client_count; i++) {
        for (int kind = 0; kind < LOAD_KINDS; kind++) {
            if (has(run, (enum load_kind)kind)) {
                load_tally_gather(&ret_tallies[kind], &run->clients[i].tallies[kind]);
            }
        }
    }
}

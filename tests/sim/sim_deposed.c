#include "tests/sim/sim_deposed.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"
#include "tests/sim/sim_checker.h"

#define LATENESS_NS (500 * SIM_MS) /* about: restarts take as long */

struct sim_deposed {
    struct arena arena;
    struct catalog_put *puts; /* NULL = nothing is on its way */
    size_t put_count;
    uint64_t reign;  /* of the master that sent it */
    uint64_t number; /* of its event */
    uint64_t reigns; /* so many masters have begun */
};

struct sim_deposed *sim_deposed_create(void)
{
    struct sim_deposed *deposed = memory_allocate_zeroed(1, sizeof *deposed);
    ASSERT(deposed != NULL);
    arena_init(&deposed->arena, 1024, SIZE_MAX);
    return deposed;
}

void sim_deposed_destroy(struct sim_deposed *deposed)
{
    arena_deinit(&deposed->arena);
    memory_free(deposed);
}

void sim_deposed_begin(struct sim *sim)
{
    sim->deposed->reigns++;
}

void sim_deposed_forget(struct sim *sim)
{
    sim->deposed->puts = NULL;
}

void sim_deposed_keep(struct sim *sim, const struct catalog_put *puts, size_t put_count)
{
    struct sim_deposed *deposed = sim->deposed;
    arena_reset(&deposed->arena);
    deposed->puts = arena_allocate_array(&deposed->arena, put_count + 1, sizeof *puts);
    ASSERT(deposed->puts != NULL);
    for (size_t i = 0; i < put_count; i++) {
        deposed->puts[i] = (struct catalog_put){
            .key = arena_copy(&deposed->arena, puts[i].key),
            .value = arena_copy(&deposed->arena, puts[i].value),
            .removed = puts[i].removed,
        };
    }
    deposed->put_count = put_count;
    deposed->reign = deposed->reigns;
    sim_heap_add(&sim->heap,
                 &(struct sim_event){.time_ns = sim->now_ns + sim_about_ns(sim, LATENESS_NS),
                                     .kind = SIM_EVENT_DEPOSED,
                                     .number = ++deposed->number});
}

void sim_deposed_arrive(struct sim *sim, uint64_t number)
{
    struct sim_deposed *deposed = sim->deposed;
    struct error error = {.status = STATUS_OK};
    if (deposed->puts == NULL || number != deposed->number) {
        return;
    }
    bool is_fenced = deposed->reign != deposed->reigns;
    sim_trace(sim, "a commit of a master that is gone arrives%s", is_fenced ? ": refused" : "");
    if (!is_fenced || sim->planted == SIM_PLANTED_COMMIT_UNFENCED) {
        if (coordinator_commit(sim->coordinator, deposed->puts, deposed->put_count, &error) !=
            STATUS_OK) {
            sim_fail(sim, "the coordinator: %s", error.text);
        }
        sim_checker_on_catalog(sim->checker, sim->coordinator);
    } else {
        sim->statistics.fenced++;
    }
    deposed->puts = NULL;
}

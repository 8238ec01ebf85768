#include "tests/sim/world/sim_rules.h"

#include "tests/sim/checker/sim_checker.h"

#define SALT UINT64_C(0x72756c6573)

#define MS_US       INT64_C(1000)
#define LONG_AGE_US (60000 * MS_US)

static struct gc_rule draw_leaf(struct prng *prng, bool age)
{
    if (age) {
        return (struct gc_rule){.kind = GC_AGE,
                                .age_us = (int64_t)(200 + prng_below(prng, 5000)) * MS_US};
    }
    return (struct gc_rule){.kind = GC_VERSIONS, .versions = 1 + (uint32_t)prng_below(prng, 3)};
}

static struct gc_rule draw_rule(struct prng *prng, struct gc_rule parts[2])
{
    uint64_t dice = prng_below(prng, 8);
    if (dice == 0) {
        return (struct gc_rule){.kind = GC_NONE};
    }
    if (dice < 5) {
        return draw_leaf(prng, dice < 3);
    }
    parts[0] = draw_leaf(prng, true);
    parts[1] = draw_leaf(prng, prng_chance(prng, 3));
    return (struct gc_rule){
        .kind = dice < 7 ? GC_UNION : GC_INTERSECTION, .children = parts, .child_count = 2};
}

/* From an age to what keeps more: a horizon of the first must not be gone by under the others. */
static void draw_relaxing(struct sim_rules *rules, struct prng *prng)
{
    rules->choices[0] = draw_leaf(prng, true);
    rules->choices[1] = (struct gc_rule){.kind = GC_NONE};
    rules->choices[2] = (struct gc_rule){.kind = GC_AGE, .age_us = LONG_AGE_US};
}

void sim_rules_draw(struct sim *sim)
{
    struct sim_rules *rules = &sim->rules;
    struct prng prng = prng_of_seed(sim->seed ^ SALT);
    rules->on = prng_chance(&prng, 3);
    if (!rules->on) {
        return;
    }
    rules->changes = prng_chance(&prng, 2);
    rules->interval_ns = (int64_t)(20 << prng_below(&prng, 7)) * SIM_MS;
    rules->append_mean_ns = (int64_t)(1 + prng_below(&prng, 200)) * SIM_MS;
    for (int i = 0; i < SIM_RULES_CHOICES; i++) {
        rules->choices[i] = draw_rule(&prng, rules->parts[i]);
    }
    if (rules->changes && prng_chance(&prng, 2)) {
        draw_relaxing(rules, &prng);
    }
    sim->settings.weights[SIM_OPERATION_VERSION] = 2 + (uint32_t)prng_below(&prng, 20);
    sim->settings.weights[SIM_OPERATION_FORGET] = (uint32_t)prng_below(&prng, 3);
}

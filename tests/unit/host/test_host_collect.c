/*
 * What has expired goes from every copy, in each one's own time, and nothing that a newer rule keeps: on real stores, beacons
 * and lanes.
 */
#include "tests/support/host_trio.h"

TestSuite(host_cluster, .fini = finish);

static bool has_text(const struct node *node, const char *text)
{
    char *there = fixture_dump(node->tablet);
    bool found = strstr(there, text) != NULL;
    free(there);
    return found;
}

/* Who was removed meanwhile, on a busy machine, is told of nothing any more.  The stores' clocks stand
 * still but for this: a pass that came before the flush is followed by another. */
static bool all_collected(void)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!is_member(node)) {
            continue;
        }
        atomic_fetch_add(&node->fixture.now_us, node->fixture.settings.gc_interval_us);
        store_flush_all(node->fixture.store);
        if (has_text(node, "@1=") || has_text(node, "@2=")) {
            return false;
        }
    }
    return true;
}

/* Until it is acknowledged; returns who did.  `table`: what that one has of the schema by then; NULL: as it is. */
static struct node *write_changes(const char *row,
                                  const struct change *changes,
                                  uint32_t count,
                                  const struct table *table)
{
    struct node *primary = NULL;
    uint64_t sequence = 0;
    do {
        sequence = 0;
        primary = must_lead();
        if (table != NULL) {
            cr_assert_eq(store_set_table(primary->fixture.store, table), STATUS_OK);
        }
        PUMP_UNTIL(&cluster,
                   !node_serves(primary) || fixture_append(primary->tablet, row, changes, count,
                                                           NULL, &sequence) == STATUS_OK);
        PUMP_UNTIL(&cluster, is_settled(primary, sequence));
    } while (sequence == 0 || primary->answered < sequence);
    return primary;
}

/* By age each erases what the log's horizon says; by versions the primary's deletes do.  (The tests' own
 * reads know of no rules.) */
Test(host_cluster, what_has_expired_goes_everywhere)
{
    struct family families[4];
    memcpy(families, fixture_families, sizeof families);
    families[0].gc = (struct gc_rule){.kind = GC_AGE, .age_us = 1000000};
    families[1].gc = (struct gc_rule){.kind = GC_VERSIONS, .versions = 1};
    struct table ruled = fixture_table;
    ruled.version = 2;
    ruled.families = families;
    begin_with(3);
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.gc_interval_us = 1000;
    }
    start_all(3);
    write_row();
    const struct change changes[] = {fixture_put(1, "c", 1, "v"), fixture_put(2, "c", 2, "v"),
                                     fixture_put(2, "c", 3, "v")};
    const struct node *primary = write_changes("gc", changes, 3, NULL);
    for (int i = 0; i < NODES; i++) {
        store_flush_all(cluster.nodes[i].fixture.store);
        cr_assert_eq(store_set_table(cluster.nodes[i].fixture.store, &ruled), STATUS_OK);
    }
    PUMP_UNTIL(&cluster, all_collected());
    cr_assert(has_text(primary, "gc/2:c@3=v"));
    PUMP_UNTIL(&cluster, all_are_level());
    expect_level();
}

/* Passes of collection have been there since, in every copy. */
static bool have_passed(uint32_t *rounds)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        atomic_fetch_add(&node->fixture.now_us, node->fixture.settings.gc_interval_us);
        store_flush_all(node->fixture.store);
    }
    return ++*rounds > 300;
}

/* The rule was relaxed, and only who leads has heard of it.  By the horizon of the older one the others would erase
 * what is written now (simulator, seed 1215). */
Test(host_cluster, a_copy_with_an_older_schema_erases_nothing_of_a_newer_one)
{
    struct family families[4];
    memcpy(families, fixture_families, sizeof families);
    families[0].gc = (struct gc_rule){.kind = GC_AGE, .age_us = 1000000};
    struct table ruled = fixture_table;
    ruled.version = 2;
    ruled.families = families;
    struct table relaxed = fixture_table;
    relaxed.version = 3;
    begin_with(3);
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.gc_interval_us = 1000;
    }
    start_all(3);
    write_row();
    const struct change change = fixture_put(1, "c", 1, "v");
    (void)write_changes("gc", &change, 1, NULL);
    for (int i = 0; i < NODES; i++) {
        cr_assert_eq(store_set_table(cluster.nodes[i].fixture.store, &ruled), STATUS_OK);
    }
    PUMP_UNTIL(&cluster, all_collected());
    (void)write_changes("late", &change, 1, &relaxed);
    PUMP_UNTIL(&cluster, all_are_level());
    uint32_t rounds = 0;
    PUMP_UNTIL(&cluster, have_passed(&rounds));
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        cr_assert(!is_member(node) || has_text(node, "late/1:c@1=v"), "copy %d has erased it", i);
    }
}

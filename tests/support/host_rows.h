/*
 * Rows that are written to a tablet of host_fixture.h while it is split or merged, and what must be there.
 */
#ifndef TESTS_SUPPORT_HOST_ROWS_H
#define TESTS_SUPPORT_HOST_ROWS_H

#include "tests/support/host_fixture.h"

#define ROWS_MAX 2000

static struct cluster cluster;
static bool acknowledged[ROWS_MAX];
static uint32_t rows_written;

__attribute__((unused)) static void rows_begin(void)
{
    memset(acknowledged, 0, sizeof acknowledged);
    rows_written = 0;
}

/* --- the master ----------------------------------------------------------------------------------- */

/* All servers hear what has become of splits and merges, or none does. */
static void hear_master(bool hears)
{
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].hears_no_master = !hears;
    }
}

/* The others hear of it by what this one opens. */
static void only_hears_master(const struct node *node)
{
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].hears_no_master = &cluster.nodes[i] != node;
    }
}

/* --- writing -------------------------------------------------------------------------------------- */

/* Even rows go to the left half, odd ones to the right. */
static const char *name_of(uint32_t row)
{
    static char name[16];
    (void)snprintf(name, sizeof name, "%c%04u", row % 2 == 0 ? 'b' : 'r', row);
    return name;
}

/* What would hold the row there. */
static struct copy copy_of(const struct node *node, uint32_t row)
{
    if (node->tablet != NULL) {
        return (struct copy){
            .tablet = node->tablet, .committed = node->committed, .answered = node->answered};
    }
    return node->heirs[2].tablet != NULL ? node->heirs[2] : node->heirs[row % 2];
}

static bool copy_serves(const struct node *node, uint32_t row)
{
    struct store_tablet *tablet = node->up ? copy_of(node, row).tablet : NULL;
    return tablet != NULL && serving_holds(host_serving(tablet), clock_monotonic_ns());
}

/* Whoever serves the row, as whatever; never two. */
static struct node *server_of(uint32_t row)
{
    struct node *found = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (copy_serves(node, row)) {
            cr_assert(found == NULL || !copy_serves(found, row), "two serve");
            found = node;
        }
    }
    return found;
}

static bool append_row(struct node *node, uint32_t row, uint64_t *ret_sequence)
{
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    struct store_tablet *tablet = copy_of(node, row).tablet;
    return tablet != NULL &&
           fixture_append(tablet, name_of(row), &change, 1, NULL, ret_sequence) == STATUS_OK;
}

/* What became of it is known, or it is known that it will not be. */
static bool is_settled(const struct node *node,
                       const struct store_tablet *tablet,
                       uint32_t row,
                       uint64_t sequence)
{
    struct copy copy = node->up ? copy_of(node, row) : (struct copy){.tablet = NULL};
    if (copy.tablet != tablet) {
        return true;
    }
    acknowledged[row] = acknowledged[row] || copy.answered >= sequence;
    return copy.committed >= sequence || host_look(copy.tablet).role != REPLICA_PRIMARY;
}

/* One try, of a new row. */
static bool try_row(void)
{
    struct node *node = server_of(rows_written);
    uint64_t sequence = 0;
    uint32_t row = rows_written;
    cr_assert_lt(rows_written, ROWS_MAX);
    if (node == NULL || !append_row(node, row, &sequence)) {
        return false;
    }
    const struct store_tablet *tablet = copy_of(node, row).tablet;
    rows_written++;
    PUMP_UNTIL(&cluster, is_settled(node, tablet, row, sequence));
    return acknowledged[row];
}

static void write_rows(uint32_t count)
{
    while (count > 0) {
        PUMP_UNTIL(&cluster, server_of(rows_written) != NULL);
        count -= try_row() ? 1 : 0;
        cluster_pump(&cluster);
    }
}

/* --- what must be there --------------------------------------------------------------------------- */

static bool is_member(const struct node *node, int heir)
{
    return node->up && replica_configuration_has(&cluster.heirs[heir], node->self);
}

static bool all_are_level(int heir)
{
    const struct node *first = NULL;
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &cluster.nodes[i];
        if (!is_member(node, heir)) {
            continue;
        }
        const struct store_tablet *tablet = node->heirs[heir].tablet;
        first = first == NULL ? node : first;
        if (tablet == NULL || first->heirs[heir].tablet == NULL ||
            host_look(tablet).appended != store_tablet_committed(tablet) ||
            store_tablet_committed(tablet) != store_tablet_committed(first->heirs[heir].tablet)) {
            return false;
        }
    }
    return first != NULL;
}

/* Each acknowledged row once, of the others each once at most; the same in all copies. */
static void expect_rows(int heir)
{
    char *text = NULL;
    PUMP_UNTIL(&cluster, all_are_level(heir));
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!is_member(node, heir)) {
            continue;
        }
        char *here = fixture_dump(node->heirs[heir].tablet);
        cr_assert(text == NULL || strcmp(text, here) == 0, "server %d differs", i + 1);
        free(text);
        text = here;
    }
    for (uint32_t row = 0; row < rows_written; row++) {
        if (heir < 2 && row % 2 != (uint32_t)heir) {
            continue;
        }
        const char *found = strstr(text, name_of(row));
        cr_assert(found != NULL || !acknowledged[row], "row %u is lost", row);
        cr_assert(found == NULL || strncmp(strchr(found, '='), "=1\n", 3) == 0, "row %u: %.20s",
                  row, found);
    }
    free(text);
}

#endif /* TESTS_SUPPORT_HOST_ROWS_H */

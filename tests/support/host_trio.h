/*
 * One tablet on the nodes of host_fixture.h, rows that are written to it whoever leads, and what must be there: each
 * that was acknowledged once, and the same everywhere.
 */
#ifndef TESTS_SUPPORT_HOST_TRIO_H
#define TESTS_SUPPORT_HOST_TRIO_H

#include "tests/support/host_fixture.h"

#define ROWS_MAX 400

static struct cluster cluster;
static bool acknowledged[ROWS_MAX];
static uint32_t rows_written;

__attribute__((unused)) static void begin_with(uint32_t members)
{
    cluster_open(&cluster, members);
    memset(acknowledged, 0, sizeof acknowledged);
    rows_written = 0;
}

__attribute__((unused)) static void start_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        node_start(&cluster.nodes[i]);
    }
}

__attribute__((unused)) static void finish(void)
{
    cluster_close(&cluster);
}

/* Appends one to a row's counter.  False: refused. */
static bool append_row(struct node *node, uint32_t row, uint64_t *ret_sequence)
{
    char name[16];
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    (void)snprintf(name, sizeof name, "r%04u", row);
    return fixture_append(node->tablet, name, &change, 1, NULL, ret_sequence) == STATUS_OK;
}

static bool is_settled(const struct node *node, uint64_t sequence)
{
    return node->committed >= sequence || host_look(node->tablet).role != REPLICA_PRIMARY;
}

/* A new row each time it is tried, so that one of which it is not known what became may be there. */
static void write_row(void)
{
    bool answered = false;
    while (!answered) {
        struct node *node = NULL;
        uint64_t sequence = 0;
        cr_assert_lt(rows_written, ROWS_MAX);
        PUMP_UNTIL(&cluster, (node = cluster_primary(&cluster)) != NULL &&
                                 append_row(node, rows_written, &sequence));
        PUMP_UNTIL(&cluster, is_settled(node, sequence));
        answered = node->answered >= sequence;
        acknowledged[rows_written++] = answered;
    }
}

__attribute__((unused)) static void write_rows(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        write_row();
    }
}

/* Each acknowledged row once; of the others each once at most. */
static void expect_rows(const struct node *node)
{
    char *text = fixture_dump(node->tablet);
    for (uint32_t row = 0; row < rows_written; row++) {
        char name[16];
        (void)snprintf(name, sizeof name, "r%04u/", row);
        const char *found = strstr(text, name);
        cr_assert(found != NULL || !acknowledged[row], "row %u is lost", row);
        cr_assert(found == NULL || strncmp(strchr(found, '='), "=1\n", 3) == 0, "row %u: %.20s",
                  row, found);
    }
    free(text);
}

static bool is_member(const struct node *node)
{
    return replica_configuration_has(&cluster.catalog, node->self);
}

static bool all_are_level(void)
{
    const struct node *first = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!node->up || !is_member(node)) {
            continue;
        }
        first = first == NULL ? node : first;
        if (host_look(node->tablet).appended != store_tablet_committed(node->tablet) ||
            store_tablet_committed(node->tablet) != store_tablet_committed(first->tablet)) {
            return false;
        }
    }
    return true;
}

/* When they are level, they have the same. */
__attribute__((unused)) static void expect_level(void)
{
    PUMP_UNTIL(&cluster, all_are_level());
    char *text = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!node->up || !is_member(node)) {
            continue;
        }
        expect_rows(node);
        char *here = fixture_dump(node->tablet);
        cr_assert(text == NULL || strcmp(text, here) == 0, "server %d differs", i + 1);
        free(text);
        text = here;
    }
    free(text);
}

__attribute__((unused)) static void wish_for_all(void)
{
    cluster.goal.count = NODES;
    for (int i = 0; i < NODES; i++) {
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
}

__attribute__((unused)) static const struct node *peer_of(const struct node *node)
{
    return node == &cluster.nodes[2] ? &cluster.nodes[1] : &cluster.nodes[2];
}

/* Who leads.  On a busy machine its lease may be over for a moment. */
__attribute__((unused)) static struct node *must_lead(void)
{
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    return primary;
}

/* Does it lead all three, by the newest configuration? */
__attribute__((unused)) static bool leads_all(const struct node *node)
{
    return node != NULL && cluster.catalog.member_count == NODES &&
           host_look(node->tablet).configuration.version == cluster.catalog.version;
}

/* Who leads, when all three count.  On a busy machine one or two may have been removed: they come back first, where that
 * is wished. */
__attribute__((unused)) static struct node *leader_of_all(void)
{
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, leads_all(primary = cluster_primary(&cluster)));
    return primary;
}

/* A tablet with three copies that has been written to, and who leads it. */
__attribute__((unused)) static struct node *primary_of_three(void)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(3);
    return leader_of_all();
}

#endif /* TESTS_SUPPORT_HOST_TRIO_H */

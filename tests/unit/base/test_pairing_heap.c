/* The pairing heap against an array that is searched; equal keys, and removing from anywhere. */
#include <criterion/criterion.h>

#include "common/base/pairing_heap.h"
#include "common/base/prng.h"

#define NODES 200

struct item {
    struct pairing_node node;
    bool inside;
};

static struct item items[NODES];
static struct pairing_heap heap;

/* Every key is at least its parent's, every link goes both ways; returns how many nodes there are. */
static int check_tree(const struct pairing_node *node)
{
    int count = 0;
    for (; node != NULL; node = node->next) {
        cr_assert(((const struct item *)node)->inside);
        cr_assert(node->child == NULL || node->child->before == node);
        cr_assert(node->next == NULL || node->next->before == node);
        for (const struct pairing_node *child = node->child; child != NULL; child = child->next) {
            cr_assert_geq(child->key, node->key);
        }
        count += 1 + check_tree(node->child);
    }
    return count;
}

static const struct item *find_lowest(void)
{
    const struct item *lowest = NULL;
    for (int i = 0; i < NODES; i++) {
        if (items[i].inside && (lowest == NULL || items[i].node.key < lowest->node.key)) {
            lowest = &items[i];
        }
    }
    return lowest;
}

static void toggle(struct item *item, uint64_t key)
{
    if (item->inside) {
        pairing_heap_remove(&heap, &item->node);
    } else {
        pairing_heap_insert(&heap, &item->node, key);
    }
    item->inside = !item->inside;
}

Test(pairing_heap, random_inserts_and_removes)
{
    struct prng prng = prng_of_seed(3);
    for (int step = 0; step < 20000; step++) {
        uint64_t range = prng_chance(&prng, 2) ? 8 : UINT64_MAX;
        struct item *item = &items[prng_below(&prng, NODES)];
        if (prng_chance(&prng, 4) && heap.lowest != NULL) {
            item = (struct item *)heap.lowest;
        }
        toggle(item, prng_below(&prng, range));
        const struct item *lowest = find_lowest();
        cr_assert_eq(heap.lowest == NULL, lowest == NULL);
        cr_assert(lowest == NULL || heap.lowest->key == lowest->node.key);
        if (step % 16 == 0) {
            int inside = 0;
            for (int i = 0; i < NODES; i++) {
                inside += items[i].inside ? 1 : 0;
            }
            cr_assert_eq(check_tree(heap.lowest), inside);
        }
    }
}

Test(pairing_heap, what_comes_in_order_stands_in_a_line)
{
    for (int i = 0; i < NODES; i++) {
        toggle(&items[i], (uint64_t)i / 2);
    }
    cr_assert_eq(check_tree(heap.lowest), NODES);
    for (int i = 0; i < NODES; i++) {
        cr_assert_eq(heap.lowest, &items[i].node);
        cr_assert_null(items[i].node.next);
        toggle(&items[i], 0);
    }
    cr_assert_null(heap.lowest);
}

Test(pairing_heap, a_line_goes_on_without_its_last_and_behind_a_higher_key)
{
    static const uint64_t keys[] = {10, 20, 5, 30, 30, 7};
    for (int i = 0; i < 3; i++) {
        toggle(&items[i], keys[i]);
    }
    toggle(&items[2], 0); /* the newest */
    for (int i = 2; i < 6; i++) {
        toggle(&items[i], keys[i]);
    }
    static const int order[] = {2, 5, 0, 1};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(heap.lowest, &items[order[i]].node);
        toggle(&items[order[i]], 0);
    }
    cr_assert_eq(check_tree(heap.lowest), 2);
}

Test(pairing_heap, the_largest_key_is_a_key)
{
    toggle(&items[0], UINT64_MAX);
    toggle(&items[1], 0);
    cr_assert_eq(heap.lowest, &items[1].node);
    toggle(&items[1], 0);
    cr_assert_eq(heap.lowest, &items[0].node);
    toggle(&items[0], 0);
    cr_assert_null(heap.lowest);
}

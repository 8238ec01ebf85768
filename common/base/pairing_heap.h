/*
 * Lowest key first: a pairing heap (Fredman et al., 1986) whose nodes lie in what they order.
 *
 *     struct record {
 *         struct pairing_node node;      first, so that a node's address is its owner's
 *         ...
 *     };
 *
 * Nothing is allocated, so nothing fails.  Inserting is O(1), removing from anywhere O(log n)
 * amortised.  Of equal keys any may come first, the same one in every run.
 *
 * Keys mostly come in order.  So a new node goes below the one that came before it where it may, not
 * below the lowest: what comes in order stands in a line, and to remove its head is O(1).
 *
 * Invariant: no node's key is above its children's.  A node is in one heap at most, and stays where
 * it is in memory while it is in there.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef COMMON_BASE_PAIRING_HEAP_H
#define COMMON_BASE_PAIRING_HEAP_H

#include <stdint.h>

struct pairing_node {
    uint64_t key;                /* changed by removing and inserting again only */
    struct pairing_node *child;  /* the first */
    struct pairing_node *next;   /* sibling */
    struct pairing_node *before; /* the sibling before, or the parent of a first child */
};

struct pairing_heap {
    struct pairing_node *lowest; /* NULL = empty, as when zeroed */
    struct pairing_node *newest; /* inserted last; NULL = it was removed */
};

/* node is in no heap; what it held before does not matter. */
void pairing_heap_insert(struct pairing_heap *heap, struct pairing_node *node, uint64_t key);

/* node is in this heap, anywhere. */
void pairing_heap_remove(struct pairing_heap *heap, struct pairing_node *node);

#endif /* COMMON_BASE_PAIRING_HEAP_H */

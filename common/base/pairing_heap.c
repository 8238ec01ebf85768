#include "common/base/pairing_heap.h"

#include <stddef.h>

#include "common/base/assert.h"

/* Two trees into one; NULL is the empty tree. */
static struct pairing_node *meld(struct pairing_node *a, struct pairing_node *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    struct pairing_node *low = b->key < a->key ? b : a;
    struct pairing_node *high = low == a ? b : a;
    high->before = low;
    high->next = low->child;
    if (low->child != NULL) {
        low->child->before = high;
    }
    low->child = high;
    return low;
}

/* All siblings into one tree: in pairs from the left, then the pairs from the right. */
static struct pairing_node *meld_siblings(struct pairing_node *first)
{
    struct pairing_node *pairs = NULL;
    while (first != NULL) {
        struct pairing_node *a = first;
        struct pairing_node *b = a->next;
        first = b != NULL ? b->next : NULL;
        a->next = NULL;
        a->before = NULL;
        if (b != NULL) {
            b->next = NULL;
            b->before = NULL;
        }
        struct pairing_node *pair = meld(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    struct pairing_node *all = NULL;
    while (pairs != NULL) {
        struct pairing_node *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        all = meld(all, pair);
    }
    return all;
}

void pairing_heap_insert(struct pairing_heap *heap, struct pairing_node *node, uint64_t key)
{
    *node = (struct pairing_node){.key = key};
    if (heap->newest != NULL && heap->newest->key <= key) {
        (void)meld(heap->newest, node); /* below it */
    } else {
        heap->lowest = meld(heap->lowest, node);
    }
    heap->newest = node;
}

void pairing_heap_remove(struct pairing_heap *heap, struct pairing_node *node)
{
    struct pairing_node *children = meld_siblings(node->child);
    heap->newest = heap->newest != node ? heap->newest : NULL;
    if (heap->lowest == node) {
        heap->lowest = children;
        return;
    }
    struct pairing_node *before = node->before;
    ASSERT(before != NULL);
    *(before->child == node ? &before->child : &before->next) = node->next;
    if (node->next != NULL) {
        node->next->before = before;
    }
    heap->lowest = meld(heap->lowest, children);
}

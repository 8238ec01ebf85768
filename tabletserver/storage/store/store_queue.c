#include "tabletserver/storage/store/store_queue.h"

#include <stddef.h>

void store_queue_init(struct store_queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

void store_queue_put(struct store_queue *queue, struct store_queue_node *node)
{
    if (node->link != NULL) {
        return;
    }
    node->next = NULL;
    node->link = queue->end;
    *queue->end = node;
    queue->end = &node->next;
}

void store_queue_remove(struct store_queue *queue, struct store_queue_node *node)
{
    if (node->link == NULL) {
        return;
    }
    *node->link = node->next;
    if (node->next != NULL) {
        node->next->link = node->link;
    } else {
        queue->end = node->link;
    }
    node->link = NULL;
}

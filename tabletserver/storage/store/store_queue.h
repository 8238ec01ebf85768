/*
 * Tablets that wait for something, in the order in which they began to: so that who has nothing to do finds that out
 * without a look at all tablets.
 *
 * A tablet has a node for each queue that it may be in.  Thread rule: with the store's mutex.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_QUEUE_H
#define TABLETSERVER_STORAGE_STORE_STORE_QUEUE_H

struct store_tablet;

struct store_queue_node {
    struct store_tablet *tablet; /* whose it is */
    struct store_queue_node *next;
    struct store_queue_node **link; /* what points to it; NULL: it is in no queue */
};

struct store_queue {
    struct store_queue_node *first;
    struct store_queue_node **end;
};

void store_queue_init(struct store_queue *queue);
/* At the end; one that is in it stays where it is. */
void store_queue_put(struct store_queue *queue, struct store_queue_node *node);
/* One that is not in it is let alone. */
void store_queue_remove(struct store_queue *queue, struct store_queue_node *node);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_QUEUE_H */

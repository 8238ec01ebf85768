#include "tabletserver/storage/store_internal.h"

enum status store_collect_step(struct store *store, bool *ret_worked)
{
    (void)store;
    *ret_worked = false;
    return STATUS_OK;
}

void store_collect_append(struct store *store)
{
    (void)store;
}

void store_collect_clear(struct store *store)
{
    (void)store;
}

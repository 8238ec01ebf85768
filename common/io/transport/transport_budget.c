#include "common/io/transport/transport_budget.h"

#include <stdatomic.h>

static struct transport_budget limits = {
    .unfinished_bytes_max = BUDGET_UNFINISHED_BYTES_DEFAULT,
    .queued_bytes_max = BUDGET_QUEUED_BYTES_DEFAULT,
};
static atomic_uint_fast64_t unfinished_bytes;
static atomic_uint_fast64_t queued_bytes;

void transport_budget_set(const struct transport_budget *budget)
{
    limits = *budget;
}

bool transport_budget_charge_unfinished(uint64_t size_bytes, uint64_t *charged_bytes)
{
    uint64_t sum = atomic_fetch_add(&unfinished_bytes, size_bytes) + size_bytes;
    *charged_bytes += size_bytes;
    return sum <= limits.unfinished_bytes_max || sum == *charged_bytes;
}

void transport_budget_release_unfinished(uint64_t *charged_bytes)
{
    atomic_fetch_sub(&unfinished_bytes, *charged_bytes);
    *charged_bytes = 0;
}

void transport_budget_note_queued(uint64_t before_bytes, uint64_t after_bytes)
{
    /* Unsigned: a difference below zero wraps, and the sum wraps back. */
    atomic_fetch_add(&queued_bytes, after_bytes - before_bytes);
}

uint64_t transport_budget_unfinished_bytes(void)
{
    return atomic_load(&unfinished_bytes);
}

uint64_t transport_budget_queued_bytes(void)
{
    return atomic_load(&queued_bytes);
}

bool transport_budget_refuses(uint64_t peer_bytes)
{
    return peer_bytes >= BUDGET_PEER_BYTES && atomic_load(&queued_bytes) > limits.queued_bytes_max;
}

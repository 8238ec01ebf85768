#include "tabletserver/storage/store/store_room.h"

#define PAGE_BYTES        4096
#define TRANSACTIONS_DEEP 2 /* pages freed by one may be taken by the second after it */
#define SEGMENTS_NEXT     2 /* the one written to, and one ahead */
#define DUE_SHARE         6 /* of the memory limit */
#define SEGMENTS_MOST     4 /* beyond the log's limit: those, and two that wait to be released */

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t maximum(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What is missing of `wanted`. */
static uint64_t lack(uint64_t wanted, uint64_t have)
{
    return wanted > have ? wanted - have : 0;
}

/* Of the base alone: what is in memory, and room to turn around in. */
static uint64_t flush_bytes(const struct store_room *room, const struct store_settings *settings)
{
    return room->unflushed_bytes + TRANSACTIONS_DEEP * settings->flush_transaction_bytes;
}

/* How much the log grows while the next memtable fills. */
static uint64_t log_next_bytes(const struct store_settings *settings, uint64_t segments)
{
    return minimum(settings->log_limit_bytes, settings->memtable_limit_bytes) +
           segments * settings->log_segment_bytes;
}

/* How large the log may become, or has been since the disk is full. */
static uint64_t log_most_bytes(const struct store_room *room, const struct store_settings *settings)
{
    uint64_t most = minimum(settings->log_limit_bytes, settings->memory_limit_bytes) +
                    SEGMENTS_MOST * (uint64_t)settings->log_segment_bytes;
    return maximum(most, room->log_peak_bytes);
}

enum store_room_verdict store_room_judge(const struct store_room *room,
                                         const struct store_settings *settings,
                                         uint64_t *ret_wanted_bytes)
{
    uint64_t growth = lack(room->base_limit_bytes, room->base_file_bytes);
    uint64_t disk = room->disk_free_bytes;
    uint64_t low = flush_bytes(room, settings) + lack(settings->ballast_bytes, room->ballast_bytes);
    uint64_t high = low + settings->memtable_limit_bytes;
    uint64_t base_lack = lack(high, room->base_reusable_bytes);
    uint64_t log_high = log_next_bytes(settings, SEGMENTS_MOST);
    uint64_t disk_lack = lack(base_lack + lack(log_high, room->log_file_bytes), disk);
    uint64_t sum_lack = lack(high + log_most_bytes(room, settings),
                             room->base_reusable_bytes + disk + room->log_file_bytes);
    uint64_t wanted = maximum(maximum(disk_lack, sum_lack), lack(base_lack, growth));
    *ret_wanted_bytes = wanted;
    if (wanted == 0) {
        return STORE_ROOM_ENOUGH;
    }
    uint64_t low_lack = lack(low, room->base_reusable_bytes);
    uint64_t log_lack = lack(log_next_bytes(settings, SEGMENTS_NEXT), room->log_file_bytes);
    return low_lack > growth || low_lack + log_lack > disk ? STORE_ROOM_SHORT : STORE_ROOM_SOME;
}

uint64_t store_room_memory_bytes(const struct store_room *room,
                                 const struct store_settings *settings)
{
    struct store_room then = *room;
    uint64_t memory = settings->memory_limit_bytes;
    for (; memory > settings->memtable_limit_bytes; memory /= 2) {
        then.unflushed_bytes = memory;
        uint64_t base = flush_bytes(&then, settings) +
                        lack(settings->ballast_bytes, room->ballast_bytes);
        uint64_t log = minimum(settings->log_limit_bytes, memory) +
                       SEGMENTS_MOST * (uint64_t)settings->log_segment_bytes;
        if (lack(base, room->base_reusable_bytes) + lack(log, room->log_file_bytes) <=
            room->disk_free_bytes) {
            return memory;
        }
    }
    return minimum(settings->memory_limit_bytes, settings->memtable_limit_bytes);
}

uint64_t store_room_due_bytes(uint64_t flushed_bytes,
                              uint64_t largest_bytes,
                              uint64_t memory_limit_bytes)
{
    return lack(minimum(largest_bytes, memory_limit_bytes / DUE_SHARE), flushed_bytes);
}

uint64_t store_room_ballast_bytes(const struct store_room *room,
                                  const struct store_settings *settings)
{
    uint64_t taken = lack(flush_bytes(room, settings) + settings->memtable_limit_bytes,
                          room->base_reusable_bytes) +
                     lack(log_most_bytes(room, settings), room->log_file_bytes);
    uint64_t spare = room->ballast_bytes + lack(room->disk_free_bytes, taken);
    return minimum(settings->ballast_bytes, spare / PAGE_BYTES * PAGE_BYTES);
}

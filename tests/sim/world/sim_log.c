#include "tests/sim/world/sim_log.h"

#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/log/log_replay.h"

/* --- the disk --------------------------------------------------------------------------------- */

static void write_anchor(struct sim_log_disk *disk, const struct log_anchor *anchor)
{
    uint8_t slot[LOG_BLOCK_BYTES];
    log_anchor_encode(anchor, slot);
    sim_file_write(&disk->anchor, (size_t)(anchor->counter % 2) * LOG_BLOCK_BYTES, slot,
                   sizeof slot);
    sim_file_sync(&disk->anchor);
}

void sim_log_disk_init(struct sim_log_disk *disk, uint64_t store_number)
{
    *disk = (struct sim_log_disk){.store_number = store_number, .salt_next = store_number * 1000};
    sim_file_init(&disk->anchor, (size_t)2 * LOG_BLOCK_BYTES);
    write_anchor(disk, &(struct log_anchor){.store_number = store_number,
                                            .counter = 1,
                                            .start_segment = 1,
                                            .start_position = LOG_POSITION_FIRST,
                                            .epoch_position = LOG_POSITION_FIRST,
                                            .synced_position = LOG_POSITION_FIRST});
}

void sim_log_disk_deinit(struct sim_log_disk *disk)
{
    for (uint32_t i = 0; i < disk->segment_count; i++) {
        sim_file_deinit(&disk->segments[i].file);
    }
    for (uint32_t i = 0; i < disk->spare_count; i++) {
        sim_file_deinit(&disk->spares[i]);
    }
    sim_file_deinit(&disk->anchor);
}

void sim_log_disk_cut_power(struct sim_log_disk *disk, struct prng *prng)
{
    for (uint32_t i = 0; i < disk->segment_count; i++) {
        sim_file_cut_power(&disk->segments[i].file, prng);
    }
}

/* --- segments --------------------------------------------------------------------------------- */

static uint64_t room_end(const struct sim_log *log)
{
    uint32_t count = log->disk->segment_count;
    return count == 0 ? log->anchor.start_position
                      : log_segment_end(&log->segments[count - 1].header);
}

/* A spare keeps its old bytes: they must never pass for new ones. */
static void add_segment(struct sim_log *log)
{
    struct sim_log_disk *disk = log->disk;
    uint32_t at = disk->segment_count;
    uint8_t block[LOG_BLOCK_BYTES];

    ASSERT(at < SIM_LOG_SEGMENTS_MAX);
    struct log_segment_header header = {
        .store_number = disk->store_number,
        .generation = at == 0 ? log->anchor.start_segment : disk->segments[at - 1].number + 1,
        .first_position = room_end(log),
        .salt = disk->salt_next++,
        .segment_bytes = SIM_LOG_SEGMENT_BYTES,
    };
    disk->segments[at].number = header.generation;
    if (disk->spare_count > 0) {
        disk->segments[at].file = disk->spares[--disk->spare_count];
    } else {
        sim_file_init(&disk->segments[at].file, SIM_LOG_SEGMENT_BYTES);
    }
    log_segment_header_encode(&header, block);
    sim_file_write(&disk->segments[at].file, 0, block, sizeof block);
    sim_file_sync(&disk->segments[at].file);
    log->segments[at] = (struct sim_log_segment){header, LOG_POSITION_NONE};
    disk->segment_count++;
}

static uint32_t segment_of(const struct sim_log *log, uint64_t position)
{
    for (uint32_t i = 0; i < log->disk->segment_count; i++) {
        const struct log_segment_header *header = &log->segments[i].header;
        if (position >= header->first_position && position < log_segment_end(header)) {
            return i;
        }
    }
    UNREACHABLE();
}

static void transfer(
    struct sim_log *log, uint64_t position, uint8_t *data, size_t size_bytes, bool write)
{
    size_t done = 0;
    while (done < size_bytes) {
        uint32_t at = segment_of(log, position + done);
        const struct log_segment_header *header = &log->segments[at].header;
        struct sim_file *file = &log->disk->segments[at].file;
        size_t offset = (size_t)(LOG_BLOCK_BYTES + position + done - header->first_position);
        size_t room = (size_t)(log_segment_end(header) - position - done);
        size_t piece = size_bytes - done < room ? size_bytes - done : room;
        if (write) {
            sim_file_write(file, offset, data + done, piece);
        } else {
            memcpy(data + done, file->cache + offset, piece);
        }
        done += piece;
    }
}

static void sync_segments(struct sim_log *log)
{
    for (uint32_t i = 0; i < log->disk->segment_count; i++) {
        sim_file_sync(&log->disk->segments[i].file);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum status read_headers(struct sim_log *log,
                                struct log_replay *replay,
                                struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < log->disk->segment_count && status == STATUS_OK; i++) {
        const struct sim_log_file *segment = &log->disk->segments[i];
        struct log_segment_header *header = &log->segments[i].header;
        status = log_segment_header_decode(segment->file.cache, log->disk->store_number, header,
                                           ret_error);
        if (status == STATUS_OK) {
            status = log_replay_add_segment(replay, segment->number, header, ret_error);
        }
    }
    return status;
}

static enum status replay_all(struct sim_log *log,
                              struct log_replay *replay,
                              const struct sim_log_open_options *options,
                              struct log_replay_output *ret_end,
                              struct error *ret_error)
{
    for (;;) {
        struct log_replay_output output = {0};
        enum status status = STATUS_OK;
        switch (log_replay_step(replay, &output)) {
        case LOG_REPLAY_READ:
            transfer(log, output.position, output.into, output.size_bytes, false);
            break;
        case LOG_REPLAY_RECORD:
            if (options->on_replay != NULL) {
                status = options->on_replay(options->context, &output.record, output.position,
                                            ret_error);
            }
            break;
        case LOG_REPLAY_END:
            *ret_end = output;
            return STATUS_OK;
        case LOG_REPLAY_CORRUPT:
            log->bad_position = output.position;
            return error_set(ret_error, STATUS_CORRUPT, "position %llu: %s; synced up to %llu",
                             (unsigned long long)output.position, output.reason,
                             (unsigned long long)output.proven);
        case LOG_REPLAY_NO_MEMORY:
            return error_set(ret_error, STATUS_NO_MEMORY, "no memory to replay");
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
}

/* As production: what nothing proves is written once more and synced, before it is relied upon. */
static void secure_end(struct sim_log *log, const struct log_replay_output *end)
{
    struct buffer piece = BUFFER_INIT;
    size_t size_bytes = (size_t)(end->position - end->proven);
    if (size_bytes > 0) {
        uint8_t *data = buffer_reserve(&piece, size_bytes);
        transfer(log, end->proven, data, size_bytes, false);
        transfer(log, end->proven, data, size_bytes, true);
    }
    buffer_deinit(&piece);
    sync_segments(log);
}

static void begin_epoch(struct sim_log *log, uint64_t end)
{
    log->anchor.counter++;
    log->anchor.epoch++;
    log->anchor.epoch_position = end;
    log->anchor.synced_position = end;
    write_anchor(log->disk, &log->anchor);
}

static enum status open_once(struct sim_log *log,
                             struct sim_log_disk *disk,
                             const struct sim_log_open_options *options,
                             struct error *ret_error)
{
    struct log_replay replay;
    struct log_replay_output end = {0};

    *log = (struct sim_log){.disk = disk};
    enum status status = log_anchor_decode(disk->anchor.cache, disk->store_number, &log->anchor,
                                           ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    log_replay_init(&replay, &log->anchor, 0);
    status = read_headers(log, &replay, ret_error);
    if (status == STATUS_OK) {
        status = replay_all(log, &replay, options, &end, ret_error);
    }
    for (uint32_t i = 0; i < disk->segment_count && status == STATUS_OK; i++) {
        log->segments[i].first_batch_position = log_replay_segment_at(&replay, i)
                                                    ->first_batch_position;
    }
    log_replay_deinit(&replay);
    if (status != STATUS_OK) {
        return status;
    }
    if (!options->trust_end) {
        secure_end(log, &end);
        begin_epoch(log, end.position);
    }
    log->gathering_position = end.position;
    log->synced_position = end.position;
    return STATUS_OK;
}

/* A log that is refused is so before anything of it is replayed.  It is known which may be. */
enum status sim_log_open(struct sim_log *log,
                         struct sim_log_disk *disk,
                         const struct sim_log_open_options *options,
                         struct error *ret_error)
{
    const struct sim_log_open_options look = {.trust_end = true};
    enum status status = STATUS_OK;
    if (sim_log_rots(disk)) {
        status = open_once(log, disk, &look, ret_error);
    }
    return status == STATUS_OK ? open_once(log, disk, options, ret_error) : status;
}

void sim_log_close(struct sim_log *log)
{
    buffer_deinit(&log->gathering);
}

/* With a trusted end nothing is written. */
enum status sim_log_look(const struct sim_log_disk *disk,
                         enum status (*on_replay)(void *context,
                                                  const struct log_record *record,
                                                  uint64_t position,
                                                  struct error *ret_error),
                         void *context)
{
    struct sim_log log;
    const struct sim_log_open_options options = {context, on_replay, true};
    return open_once(&log, (struct sim_log_disk *)disk, &options, NULL);
}

/* --- rot -------------------------------------------------------------------------------------- */

bool sim_log_rots(const struct sim_log_disk *disk)
{
    struct log_anchor anchor;
    return disk->rot.by != 0 &&
           log_anchor_decode(disk->anchor.cache, disk->store_number, &anchor, NULL) == STATUS_OK &&
           anchor.start_position <= disk->rot.position;
}

static enum status add_position(void *context,
                                const struct log_record *record,
                                uint64_t position,
                                struct error *ret_error)
{
    struct buffer *positions = context;
    size_t count = positions->size_bytes / sizeof position;
    (void)record;
    (void)ret_error;
    if (count == 0 ||
        memcmp(positions->data + (count - 1) * sizeof position, &position, sizeof position) != 0) {
        buffer_append(positions, &position, sizeof position);
    }
    return STATUS_OK;
}

static void turn_bit(struct sim_log_disk *disk)
{
    for (uint32_t i = 0; i < disk->segment_count; i++) {
        if (disk->segments[i].number == disk->rot.segment) {
            disk->segments[i].file.cache[disk->rot.offset] ^= disk->rot.by;
            disk->segments[i].file.durable[disk->rot.offset] ^= disk->rot.by;
        }
    }
}

static void turn_one(const struct sim_log *log, uint64_t position, uint64_t end, struct prng *prng)
{
    uint64_t at = position + prng_below(prng, end - position);
    uint32_t segment = segment_of(log, at);
    log->disk->rot = (struct sim_log_rot){
        .position = position,
        .segment = log->disk->segments[segment].number,
        .offset = (size_t)(LOG_BLOCK_BYTES + at - log->segments[segment].header.first_position),
        .by = (uint8_t)(1U << prng_below(prng, 8))};
    turn_bit(log->disk);
}

bool sim_log_rot(struct sim_log_disk *disk, struct prng *prng)
{
    struct sim_log log;
    struct buffer positions = BUFFER_INIT;
    const struct sim_log_open_options options = {&positions, add_position, true};
    bool done = false;
    if (!sim_log_rots(disk) && open_once(&log, disk, &options, NULL) == STATUS_OK) {
        size_t count = positions.size_bytes / sizeof(uint64_t);
        uint64_t around[2]; /* the batch, and the next */
        ASSERT(!positions.failed);
        if (count > 2) {
            size_t at = (size_t)prng_below(prng, count - 2);
            memcpy(around, positions.data + at * sizeof around[0], sizeof around);
            turn_one(&log, around[0], around[1], prng);
            done = true;
        }
    }
    buffer_deinit(&positions);
    return done;
}

void sim_log_rot_undo(struct sim_log_disk *disk)
{
    turn_bit(disk);
    disk->rot = (struct sim_log_rot){.by = 0};
}

void sim_log_cut(struct sim_log_disk *disk, uint64_t position)
{
    struct sim_log log = {.disk = disk};
    ASSERT(log_anchor_decode(disk->anchor.cache, disk->store_number, &log.anchor, NULL) ==
           STATUS_OK);
    log.anchor.cut = true;
    begin_epoch(&log, position);
    disk->rot = (struct sim_log_rot){.by = 0};
}

/* --- writing ---------------------------------------------------------------------------------- */

uint64_t sim_log_append(struct sim_log *log, const struct log_record *record)
{
    if (log->gathering_records == 0) {
        static const uint8_t header[LOG_BATCH_HEADER_BYTES];
        buffer_reset(&log->gathering);
        buffer_append(&log->gathering, header, sizeof header);
    }
    log_record_encode(record, &log->gathering);
    ASSERT(!log->gathering.failed);
    log->gathering_records++;
    return log->gathering_position;
}

bool sim_log_wants_write(const struct sim_log *log)
{
    return log->gathering_records > 0 && !log->flying;
}

void sim_log_write(struct sim_log *log)
{
    struct buffer *batch = &log->gathering;
    uint64_t position = log->gathering_position;

    ASSERT(sim_log_wants_write(log));
    while (batch->size_bytes % LOG_ALIGNMENT_BYTES != 0) {
        buffer_append_u8(batch, 0);
    }
    while (position + batch->size_bytes > room_end(log)) {
        add_segment(log);
    }
    struct sim_log_segment *segment = &log->segments[segment_of(log, position)];
    if (segment->first_batch_position == LOG_POSITION_NONE) {
        segment->first_batch_position = position;
    }
    uint64_t seed = log_batch_seed(segment->header.salt, segment->header.generation, position);
    size_t payload_bytes = batch->size_bytes - LOG_BATCH_HEADER_BYTES;
    struct log_batch_header header = {
        .payload_bytes = (uint32_t)payload_bytes,
        .record_count = log->gathering_records,
        .position = position,
        .synced_position = position,
        .epoch = log->anchor.epoch,
        .payload_checksum = log_payload_checksum(batch->data + LOG_BATCH_HEADER_BYTES,
                                                 payload_bytes, seed),
    };
    log_batch_header_encode(&header, seed, batch->data);
    transfer(log, position, batch->data, batch->size_bytes, true);
    log->flying = true;
    log->flight_end = position + batch->size_bytes;
    log->gathering_position = log->flight_end;
    log->gathering_records = 0;
}

uint64_t sim_log_synced(struct sim_log *log)
{
    ASSERT(log->flying);
    sync_segments(log);
    log->flying = false;
    log->synced_position = log->flight_end;
    return log->flight_end;
}

/* --- recycling -------------------------------------------------------------------------------- */

static void drop_segments(struct sim_log *log, uint32_t count)
{
    struct sim_log_disk *disk = log->disk;
    for (uint32_t i = 0; i < count; i++) {
        if (disk->spare_count < SIM_LOG_SPARES_MAX) {
            disk->spares[disk->spare_count++] = disk->segments[i].file;
        } else {
            sim_file_deinit(&disk->segments[i].file);
        }
    }
    disk->segment_count -= count;
    memmove(disk->segments, disk->segments + count, disk->segment_count * sizeof *disk->segments);
    memmove(log->segments, log->segments + count, disk->segment_count * sizeof *log->segments);
}

void sim_log_release(struct sim_log *log, uint64_t position)
{
    struct log_recycle_segment segments[SIM_LOG_SEGMENTS_MAX];
    uint32_t count = log->disk->segment_count;

    for (uint32_t i = 0; i < count; i++) {
        segments[i] = (struct log_recycle_segment){log->disk->segments[i].number,
                                                   log->segments[i].first_batch_position,
                                                   SIM_LOG_SEGMENT_BYTES};
    }
    struct log_recycle_plan plan = log_recycle_plan(segments, count, log->anchor.start_segment,
                                                    log->anchor.start_position, position);
    if (plan.release_count == 0) {
        return;
    }
    log->anchor.counter++;
    log->anchor.start_segment = plan.start_segment;
    log->anchor.start_position = plan.start_position;
    log->anchor.synced_position = log->synced_position;
    write_anchor(log->disk, &log->anchor);
    drop_segments(log, (uint32_t)plan.release_count);
}

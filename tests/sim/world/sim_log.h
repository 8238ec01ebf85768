/*
 * The log of a simulated store: production's bytes (log_format), recovery (log_replay) and
 * recycling (log_recycle) over simulated files, with a writer that keeps production's one rule: a
 * batch is not begun before the one before it is synced.
 *
 * The files live in the disk and outlive the process; struct sim_log does not.
 */
#ifndef TESTS_SIM_WORLD_SIM_LOG_H
#define TESTS_SIM_WORLD_SIM_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "tabletserver/storage/log/log_format.h"
#include "tabletserver/storage/log/log_recycle.h"
#include "tests/sim/world/sim_disk.h"

#define SIM_LOG_SEGMENTS_MAX  96
#define SIM_LOG_SPARES_MAX    2
#define SIM_LOG_SEGMENT_BYTES LOG_SEGMENT_BYTES_MIN

struct sim_log_file {
    uint64_t number;
    struct sim_file file;
};

/* A bit of a batch that is not what was written: it was synced, and later ones prove that. */
struct sim_log_rot {
    uint64_t position; /* of the batch */
    uint64_t segment;
    size_t offset; /* in the file */
    uint8_t by;    /* 0 = none */
};

/* What is on the disk. */
struct sim_log_disk {
    uint64_t store_number;
    struct sim_file anchor;
    struct sim_log_file segments[SIM_LOG_SEGMENTS_MAX]; /* ascending */
    uint32_t segment_count;
    struct sim_file spares[SIM_LOG_SPARES_MAX];
    uint32_t spare_count;
    uint64_t salt_next;
    struct sim_log_rot rot;
};

void sim_log_disk_init(struct sim_log_disk *disk, uint64_t store_number);
void sim_log_disk_deinit(struct sim_log_disk *disk);
void sim_log_disk_cut_power(struct sim_log_disk *disk, struct prng *prng);

struct sim_log_segment {
    struct log_segment_header header;
    uint64_t first_batch_position;
};

struct sim_log {
    struct sim_log_disk *disk;
    struct log_anchor anchor;
    struct sim_log_segment segments[SIM_LOG_SEGMENTS_MAX]; /* as the disk's */
    struct buffer gathering;
    uint32_t gathering_records;
    uint64_t gathering_position;
    bool flying;
    uint64_t flight_end;
    uint64_t synced_position;
    uint64_t bad_position; /* of a log that does not open: where the bad batch begins */
};

struct sim_log_open_options {
    void *context;
    /* For every record, in order. An error ends the opening with it.  Of a log that rots none is given out. */
    enum status (*on_replay)(void *context,
                             const struct log_record *record,
                             uint64_t position,
                             struct error *ret_error);
    bool trust_end; /* planted: do not make sure of unproven bytes */
};

/* Errors: STATUS_CORRUPT: a log that was synced does not read back; what on_replay returned. */
enum status sim_log_open(struct sim_log *log,
                         struct sim_log_disk *disk,
                         const struct sim_log_open_options *options,
                         struct error *ret_error);
void sim_log_close(struct sim_log *log);

/* What an opening would give out; nothing is changed. */
enum status sim_log_look(const struct sim_log_disk *disk,
                         enum status (*on_replay)(void *context,
                                                  const struct log_record *record,
                                                  uint64_t position,
                                                  struct error *ret_error),
                         void *context);

/* --- rot (sim_rot.h) ------------------------------------------------------------------------------ */

/* Turn a bit of some batch, never of one of the last two: then a later one proves that it was synced, also when
 * the cache is lost.  False: there is none to turn. */
bool sim_log_rot(struct sim_log_disk *disk, struct prng *prng);
void sim_log_rot_undo(struct sim_log_disk *disk);
/* Would recovery meet it? */
bool sim_log_rots(const struct sim_log_disk *disk);
/* As log_repair(): the log ends there, and what lies behind is of an older epoch. */
void sim_log_cut(struct sim_log_disk *disk, uint64_t position);

/* Where the record's batch will begin. */
uint64_t sim_log_append(struct sim_log *log, const struct log_record *record);

/* Something gathered, and nothing on its way? */
bool sim_log_wants_write(const struct sim_log *log);
/* Write the gathered batch into the cache. */
void sim_log_write(struct sim_log *log);
/* It is durable; returns the position below which everything is. */
uint64_t sim_log_synced(struct sim_log *log);

/* Nothing below position is needed any more. */
void sim_log_release(struct sim_log *log, uint64_t position);

#endif /* TESTS_SIM_WORLD_SIM_LOG_H */

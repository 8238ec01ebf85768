/*
 * What the log says of tablets that have a configuration.
 *
 *   entries 81 82 83 | CONFIGURATION, kept 82 | 83' 84' 85'       83 was dropped
 *
 * Each entry goes into the window.  It leaves it when a later one proves that it is committed (how far
 * committed lay behind is said by each), so what may yet be dropped is not applied.  In the end, what
 * the base has in part was committed, and so was all that is left to a lone member.
 *
 * The log may begin anywhere in what was dropped: its first entries may not follow on what the base
 * has.  That is no damage if a CONFIGURATION comes that drops them, so it is judged at the end.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"

/* Commit up to sequence, or as far as the window goes. */
static enum status commit_replayed(struct store_tablet *tablet, uint64_t sequence)
{
    uint64_t appended = store_tablet_appended(tablet);
    sequence = sequence < appended ? sequence : appended;
    while (store_tablet_committed(tablet) < sequence) {
        enum status status = store_commit_up_to(tablet, sequence);
        if (status == STATUS_RESOURCE_EXHAUSTED && tablet->layer_count >= STORE_LAYERS_MAX) {
            status = store_replay_free_layer(tablet);
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    return store_replay_relieve(tablet);
}

static void note_gap(struct store_tablet *tablet, uint64_t found)
{
    if (tablet->gap_expected == 0) {
        tablet->gap_expected = store_tablet_appended(tablet) + 1;
        tablet->gap_found = found;
    }
}

static enum status replay_entry(struct store_tablet *tablet,
                                const struct log_record *record,
                                uint64_t position,
                                struct error *ret_error)
{
    if (tablet->gap_expected != 0 || record->sequence != store_tablet_appended(tablet) + 1) {
        note_gap(tablet, record->sequence);
        return STATUS_OK;
    }
    const struct store_entry entry = {record->sequence, record->configuration, record->stamp,
                                      record->type, record->payload};
    struct store_window_entry *copy = NULL;
    enum status status = store_window_reserve(&tablet->window);
    if (status == STATUS_OK) {
        status = store_window_entry_create(&entry, &tablet->descriptor.range, &copy, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    copy->position = position;
    store_window_push(&tablet->window, copy);
    tablet->store->recovered_records++;
    if (tablet->shared) {
        store_mark(tablet, record->sequence, position);
    }
    return commit_replayed(tablet, record->sequence - record->behind);
}

/* The catalog has replaced the tablet, so it knew that the barrier was committed. */
static enum status replay_conversion(struct store_tablet *tablet,
                                     const struct log_record *record,
                                     uint64_t position,
                                     struct error *ret_error)
{
    struct record_configuration decoded;
    enum status status = record_decode_configuration(record->payload, &decoded, ret_error);
    if (status == STATUS_OK && tablet->gap_expected == 0) {
        status = commit_replayed(tablet, decoded.kept_sequence);
    }
    return status == STATUS_OK ? store_conversion_replay(tablet, &decoded, position, ret_error)
                               : status;
}

static enum status replay_configuration(struct store_tablet *tablet,
                                        const struct log_record *record,
                                        uint64_t position,
                                        struct error *ret_error)
{
    struct record_configuration decoded;
    enum status status = record_decode_configuration(record->payload, &decoded, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t kept = decoded.kept_sequence;
    if (kept < store_tablet_committed(tablet) &&
        store_tablet_committed(tablet) > tablet->flushed_sequence) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "a CONFIGURATION keeps entries up to %llu, and %llu were committed",
                         (unsigned long long)kept,
                         (unsigned long long)store_tablet_committed(tablet));
    }
    if (kept > store_tablet_appended(tablet) && !tablet->half_taught) {
        note_gap(tablet, kept + 1);
    } else {
        tablet->gap_expected = 0;
        store_window_drop_above(&tablet->window, kept);
    }
    const struct store_configuration configuration = {decoded.configuration, decoded.role,
                                                      decoded.flags};
    store_set_configuration(tablet, &configuration);
    store_note_durable_configuration(tablet, position);
    if (tablet->shared && tablet->gap_expected == 0) {
        store_mark_drop(tablet, store_tablet_appended(tablet), position);
    }
    tablet->leads = false;
    return STATUS_OK;
}

enum status store_replay_of_replica(struct store_tablet *tablet,
                                    const struct log_record *record,
                                    uint64_t position,
                                    struct error *ret_error)
{
    if (record->type == RECORD_CONFIGURATION) {
        return replay_configuration(tablet, record, position, ret_error);
    }
    if (record->type == RECORD_CONVERSION) {
        return replay_conversion(tablet, record, position, ret_error);
    }
    if (record->type > RECORD_CONVERSION) {
        return error_set(ret_error, STATUS_VERSION,
                         "log record of type %u was written by a newer version", record->type);
    }
    return replay_entry(tablet, record, position, ret_error);
}

enum status store_replay_end(struct store_tablet *tablet, struct error *ret_error)
{
    if (tablet->gap_expected != 0 && !store_relearns(tablet)) {
        (void)store_replay_explain_gap(tablet->gap_expected, tablet->gap_found, ret_error);
        return error_prefix(ret_error, "%s: tablet %llu", tablet->store->folder,
                            (unsigned long long)tablet->descriptor.tablet);
    }
    tablet->gap_expected = 0;
    bool alone = atomic_load(&tablet->alone);
    enum status status = commit_replayed(tablet, alone ? UINT64_MAX : tablet->hold_until);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s: tablet %llu: %s", tablet->store->folder,
                         (unsigned long long)tablet->descriptor.tablet, status_text(status));
    }
    tablet->synced = store_tablet_appended(tablet);
    tablet->leads = alone;
    return STATUS_OK;
}

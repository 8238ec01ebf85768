/*
 * Erasing what dropped tablets and DropRowRange leave behind, in bounded steps, over as many restarts as it
 * takes.  Of a dropped tablet a note of its ranges is left, of DropRowRange what the tablet keeps of it.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define ERASE_BUDGET_BYTES (1024 * 1024)
#define ERASURES_MAX       64 /* in one step */

static const struct stamp stamp_of_all = {UINT64_MAX, UINT32_MAX, UINT32_MAX};

/* --- notes of dropped ranges ---------------------------------------------------------------------- */

struct store_erasure *store_erasure_create(uint64_t number, const struct store_meta_erasure *what)
{
    struct bytes start = what->range.start;
    struct bytes end = what->range.end;
    struct store_erasure *erasure = memory_allocate_zeroed(1, sizeof *erasure + start.size_bytes +
                                                                  end.size_bytes);
    if (erasure == NULL) {
        return NULL;
    }
    uint8_t *at = (uint8_t *)(erasure + 1);
    erasure->number = number;
    erasure->what.extent = what->extent;
    if (start.size_bytes > 0) {
        memcpy(at, start.data, start.size_bytes);
    }
    if (end.size_bytes > 0) {
        memcpy(at + start.size_bytes, end.data, end.size_bytes);
    }
    erasure->what.range.start = bytes_of(at, start.size_bytes);
    erasure->what.range.end = bytes_of(at + start.size_bytes, end.size_bytes);
    return erasure;
}

static void destroy_erasure(struct store_erasure *erasure)
{
    buffer_deinit(&erasure->resume);
    memory_free(erasure);
}

void store_erasures_add(struct store *store, struct store_erasure *erasure)
{
    struct store_erasure **end = &store->erasures;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = erasure;
    if (erasure->number >= store->erasure_next) {
        store->erasure_next = erasure->number + 1;
    }
}

void store_erasures_clear(struct store *store)
{
    while (store->erasures != NULL) {
        struct store_erasure *first = store->erasures;
        store->erasures = first->next;
        destroy_erasure(first);
    }
}

static enum status put_erasure(struct base_writer *writer, const struct store_erasure *erasure)
{
    struct buffer value = BUFFER_INIT;
    struct store_meta_key key = store_meta_key(STORE_META_ERASURE, erasure->number, 0);
    store_meta_encode_erasure(erasure->number, &erasure->what, &value);
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : base_writer_meta_put(writer, store_meta_key_bytes(&key),
                                                             buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

enum status store_note_erasures(struct base_writer *writer,
                                struct store_tablet *tablet,
                                struct store_erasure **ret_erasures)
{
    struct store *store = tablet->store;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < tablet->pieces->count && status == STATUS_OK; i++) {
        const struct base_piece *piece = &tablet->pieces->pieces[i];
        struct store_meta_erasure what = {piece->extent, piece->range};
        /* Some of other tablets may be in this transaction. */
        uint64_t number = *ret_erasures == NULL ? store->erasure_next : (*ret_erasures)->number + 1;
        struct store_erasure *erasure = store_erasure_create(number, &what);
        if (erasure == NULL) {
            return STATUS_NO_MEMORY;
        }
        erasure->next = *ret_erasures;
        *ret_erasures = erasure;
        status = put_erasure(writer, erasure);
    }
    return status;
}

void store_keep_erasures(struct store *store, struct store_erasure *erasures, bool written)
{
    while (erasures != NULL) {
        struct store_erasure *next = erasures->next;
        erasures->next = NULL;
        if (written) {
            store_erasures_add(store, erasures);
        } else {
            destroy_erasure(erasures);
        }
        erasures = next;
    }
}

/* --- erasing what dropped tablets left ------------------------------------------------------------ */

static bool rests(const struct store_erasure *erasure)
{
    return erasure->from_ns > 0 && clock_monotonic_ns() < erasure->from_ns;
}

static enum status erase_one(struct base_writer *writer, struct store_erasure *erasure)
{
    erasure->begun = true;
    enum status status = base_erase_step(writer, erasure->what.extent, &erasure->what.range,
                                         stamp_of_all, &erasure->resume, ERASE_BUDGET_BYTES,
                                         &erasure->done);
    if (status == STATUS_OK && erasure->done) {
        struct store_meta_key key = store_meta_key(STORE_META_ERASURE, erasure->number, 0);
        status = base_writer_meta_delete(writer, store_meta_key_bytes(&key));
    }
    return status;
}

/* The oldest that do not rest, as long as little is found to erase: of a table that was dropped most may be empty, and each
 * sync takes some milliseconds.  *ret_met: the last one that was begun. */
static enum status erase_some(struct store *store,
                              struct base_writer *writer,
                              struct store_erasure **ret_met)
{
    enum status status = STATUS_OK;
    uint32_t count = 0;
    bool more = true;
    for (struct store_erasure *erasure = store->erasures;
         erasure != NULL && more && status == STATUS_OK && count < ERASURES_MAX;
         erasure = erasure->next) {
        if (!rests(erasure)) {
            *ret_met = erasure;
            status = erase_one(writer, erasure);
            more = erasure->done && base_writer_dirty_bytes(writer) < ERASE_BUDGET_BYTES;
            count++;
        }
    }
    return status;
}

/* What is done goes off the list; if it was not committed nothing is, and where they stand neither. */
static void end_step(struct store *store, bool committed)
{
    struct store_erasure **link = &store->erasures;
    while (*link != NULL) {
        struct store_erasure *erasure = *link;
        bool goes = committed && erasure->begun && erasure->done;
        if (erasure->begun && !committed) {
            buffer_reset(&erasure->resume);
        }
        erasure->begun = false;
        erasure->done = false;
        if (goes) {
            *link = erasure->next;
            destroy_erasure(erasure);
        } else {
            link = &erasure->next;
        }
    }
}

static bool any_is_due(const struct store *store)
{
    const struct store_erasure *erasure = store->erasures;
    while (erasure != NULL && rests(erasure)) {
        erasure = erasure->next;
    }
    return erasure != NULL;
}

enum status store_erase_step(struct store *store, bool *ret_worked)
{
    struct base_writer *writer = NULL;
    struct store_erasure *met = NULL;
    *ret_worked = any_is_due(store);
    enum status status = *ret_worked ? base_writer_begin(store->base, &writer) : STATUS_OK;
    if (writer == NULL) {
        return status;
    }
    status = erase_some(store, writer, &met);
    if (status == STATUS_OK) {
        atomic_fetch_add(&store->list_transactions, 1);
        status = base_writer_commit(writer);
    } else {
        base_writer_abort(writer);
    }
    end_step(store, status == STATUS_OK);
    if (status != STATUS_CORRUPT || met == NULL) {
        return status;
    }
    met->from_ns = clock_monotonic_ns() + STORE_DAMAGE_REST_NS;
    (void)store_trouble_note(store, status, "base");
    return STATUS_OK;
}

/* --- erasing what DropRowRange has covered -------------------------------------------------------- */

/* Is the erasing of its oldest range delete due: is all older data in the base? */
static bool wants_erasing(struct store_tablet *tablet)
{
    if (store_rests_damaged(tablet, STORE_CHORE_ERASE) || !store_may_keep_house(tablet)) {
        return false;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    bool due = tablet->range_deletes->count > 0 && !atomic_load(&tablet->erase.told) &&
               tablet->range_deletes->deletes[0].sequence <= tablet->flushed_sequence;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return due;
}

/* One step inside a transaction; *ret_done: the range delete has nothing left to cover. */
static enum status erase_range(struct base_writer *writer,
                               struct store_tablet *tablet,
                               const struct range_delete *delete,
                               const struct store_pieces *pieces,
                               bool *ret_done)
{
    bool piece_done = true;
    if (tablet->erase.piece < pieces->count) {
        const struct base_piece *piece = &pieces->pieces[tablet->erase.piece];
        struct row_range range;
        if (row_range_intersect(&piece->range, &delete->range, &range)) {
            enum status status = base_erase_step(writer, piece->extent, &range, delete->stamp,
                                                 &tablet->erase.resume, ERASE_BUDGET_BYTES,
                                                 &piece_done);
            if (status != STATUS_OK) {
                return status;
            }
        }
    }
    if (piece_done) {
        tablet->erase.piece++;
        buffer_reset(&tablet->erase.resume);
    }
    *ret_done = tablet->erase.piece >= pieces->count;
    if (!*ret_done) {
        return STATUS_OK;
    }
    uint64_t before = tablet->erase.sequence;
    tablet->erase.sequence = delete->sequence;
    enum status status = store_put_tablet_meta(writer, tablet, tablet->flushed_sequence,
                                               atomic_load(&tablet->flushed_clock),
                                               tablet->dedupe_piece_count);
    tablet->erase.sequence = status == STATUS_OK ? delete->sequence : before;
    return status;
}

static enum status erase_range_step(struct store_tablet *tablet,
                                    const struct range_delete *delete,
                                    const struct store_pieces *pieces)
{
    struct base_writer *writer = NULL;
    uint64_t erased_before = tablet->erase.sequence;
    enum status status = base_writer_begin(tablet->store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    bool done = false;
    status = erase_range(writer, tablet, delete, pieces, &done);
    if (status != STATUS_OK) {
        base_writer_abort(writer);
    } else {
        status = base_writer_commit(writer);
    }
    if (status != STATUS_OK) {
        tablet->erase.sequence = erased_before;
        tablet->erase.piece = 0;
        buffer_reset(&tablet->erase.resume);
        return status;
    }
    if (done) {
        tablet->erase.piece = 0;
        atomic_store(&tablet->erase.told, true);
        tablet->erase.event = (struct store_event){.kind = STORE_EVENT_RANGE_DELETE_DONE,
                                                   .subject = tablet};
        store_tablet_ref(tablet); /* until the loop has taken the event */
        store_tell(tablet->store, &tablet->erase.event);
    }
    return STATUS_OK;
}

enum status store_erase_range_step(struct store *store, bool *ret_worked)
{
    struct store_pieces *pieces = NULL;
    struct store_tablet *tablet = store_choose_untidy(store, STORE_CHORE_ERASE, wants_erasing,
                                                      &pieces);
    *ret_worked = tablet != NULL;
    if (tablet == NULL) {
        return STATUS_OK;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_range_deletes *deletes = store_range_deletes_ref(tablet->range_deletes);
    (void)pthread_mutex_unlock(&tablet->mutex);
    enum status status = STATUS_OK;
    if (deletes->count > 0) { /* else it was cut off meanwhile */
        status = erase_range_step(tablet, &deletes->deletes[0], pieces);
        status = store_note_step(tablet, STORE_CHORE_ERASE, status);
    }
    store_range_deletes_unref(deletes);
    store_pieces_unref(pieces);
    store_tablet_unref(tablet);
    return status;
}

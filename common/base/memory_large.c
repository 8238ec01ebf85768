#include "common/base/memory_large.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "common/base/memory.h"

struct piece {
    struct piece *next;
};

static struct {
    pthread_mutex_t lock;
    struct piece *kept;
    size_t kept_bytes;
    size_t kept_bytes_max;
} pieces = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* NULL: none is kept. */
static struct piece *take_kept(void)
{
    (void)pthread_mutex_lock(&pieces.lock);
    struct piece *piece = pieces.kept;
    if (piece != NULL) {
        pieces.kept = piece->next;
        pieces.kept_bytes -= MEMORY_LARGE_BYTES;
    }
    (void)pthread_mutex_unlock(&pieces.lock);
    return piece;
}

static bool keep(struct piece *piece)
{
    (void)pthread_mutex_lock(&pieces.lock);
    bool is_kept = pieces.kept_bytes + MEMORY_LARGE_BYTES <= pieces.kept_bytes_max;
    if (is_kept) {
        piece->next = pieces.kept;
        pieces.kept = piece;
        pieces.kept_bytes += MEMORY_LARGE_BYTES;
    }
    (void)pthread_mutex_unlock(&pieces.lock);
    return is_kept;
}

void *memory_large_allocate(void)
{
    void *piece = take_kept();
    if (piece == NULL) {
        piece = memory_allocate_aligned(MEMORY_LARGE_BYTES, MEMORY_LARGE_BYTES);
        if (piece != NULL) {
            (void)madvise(piece, MEMORY_LARGE_BYTES,
                          MADV_HUGEPAGE); /* a hint, and may be refused */
        }
    }
    return piece;
}

void memory_large_free(void *piece)
{
    if (piece != NULL && !keep(piece)) {
        memory_free(piece);
    }
}

static void free_surplus(void)
{
    struct piece *surplus = NULL;
    (void)pthread_mutex_lock(&pieces.lock);
    while (pieces.kept_bytes > pieces.kept_bytes_max) {
        struct piece *piece = pieces.kept;
        pieces.kept = piece->next;
        pieces.kept_bytes -= MEMORY_LARGE_BYTES;
        piece->next = surplus;
        surplus = piece;
    }
    (void)pthread_mutex_unlock(&pieces.lock);
    while (surplus != NULL) {
        struct piece *next = surplus->next;
        memory_free(surplus);
        surplus = next;
    }
}

void memory_large_keep(size_t bytes_max)
{
    (void)pthread_mutex_lock(&pieces.lock);
    pieces.kept_bytes_max = bytes_max;
    (void)pthread_mutex_unlock(&pieces.lock);
    free_surplus();
}

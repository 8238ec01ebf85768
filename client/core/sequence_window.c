#include "client/core/sequence_window.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define WORD_BITS        64
#define WORD_COUNT_FIRST 16

void sequence_window_init(struct sequence_window *window)
{
    *window = (struct sequence_window){.base = 1, .next = 1};
}

void sequence_window_deinit(struct sequence_window *window)
{
    memory_free(window->finished);
    *window = (struct sequence_window){.base = 1, .next = 1};
}

static uint64_t *word_of(const struct sequence_window *window, uint64_t sequence)
{
    return &window->finished[(sequence / WORD_BITS) & (window->word_count - 1)];
}

static uint64_t bit_of(uint64_t sequence)
{
    return UINT64_C(1) << (sequence % WORD_BITS);
}

static bool is_finished(const struct sequence_window *window, uint64_t sequence)
{
    return (*word_of(window, sequence) & bit_of(sequence)) != 0;
}

/* A whole word is spared, so that the words of base and next are never the same one twice. */
static bool is_full(const struct sequence_window *window)
{
    return window->word_count == 0 ||
           window->next / WORD_BITS - window->base / WORD_BITS + 1 >= window->word_count;
}

static enum status grow(struct sequence_window *window)
{
    struct sequence_window wider = *window;
    wider.word_count = window->word_count == 0 ? WORD_COUNT_FIRST : 2 * window->word_count;
    wider.finished = memory_allocate_zeroed(wider.word_count, sizeof *wider.finished);
    if (wider.finished == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (window->word_count > 0) {
        for (uint64_t word = window->base / WORD_BITS; word <= window->next / WORD_BITS; word++) {
            *word_of(&wider, word * WORD_BITS) = *word_of(window, word * WORD_BITS);
        }
    }
    memory_free(window->finished);
    *window = wider;
    return STATUS_OK;
}

enum status sequence_window_begin(struct sequence_window *window, uint64_t *ret_sequence)
{
    if (is_full(window)) {
        enum status status = grow(window);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *word_of(window, window->next) &= ~bit_of(window->next);
    *ret_sequence = window->next++;
    return STATUS_OK;
}

void sequence_window_finish(struct sequence_window *window, uint64_t sequence)
{
    ASSERT(sequence >= window->base);
    ASSERT(sequence < window->next);
    ASSERT(!is_finished(window, sequence));
    *word_of(window, sequence) |= bit_of(sequence);
    while (window->base < window->next && is_finished(window, window->base)) {
        window->base++;
    }
}

uint64_t sequence_window_lowest_unfinished(const struct sequence_window *window)
{
    return window->base;
}

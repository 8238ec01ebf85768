#include "client/core/sequence_window.h"

#include <stdbool.h>

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

/* The bits of [first, end) that lie in the word of first. */
static uint64_t bits_of(uint64_t first, uint64_t end)
{
    uint64_t count = WORD_BITS - first % WORD_BITS;
    count = end - first < count ? end - first : count;
    uint64_t bits = count == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    return bits << (first % WORD_BITS);
}

/* A whole word is spared, so that the words of base and the last are never the same one twice. */
static bool is_too_small(const struct sequence_window *window, uint64_t count)
{
    uint64_t last = window->next + count - 1;
    return window->word_count == 0 ||
           last / WORD_BITS - window->base / WORD_BITS + 1 >= window->word_count;
}

static enum status grow(struct sequence_window *window, uint64_t count)
{
    struct sequence_window wider = *window;
    do {
        wider.word_count = wider.word_count == 0 ? WORD_COUNT_FIRST : 2 * wider.word_count;
    } while (is_too_small(&wider, count));
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

enum status sequence_window_begin_many(struct sequence_window *window,
                                       uint64_t count,
                                       uint64_t *ret_first)
{
    if (count > 0 && is_too_small(window, count)) {
        enum status status = grow(window, count);
        if (status != STATUS_OK) {
            return status;
        }
    }
    uint64_t end = window->next + count;
    *ret_first = window->next;
    for (uint64_t at = window->next; at < end; at = (at / WORD_BITS + 1) * WORD_BITS) {
        *word_of(window, at) &= ~bits_of(at, end);
    }
    window->next = end;
    return STATUS_OK;
}

enum status sequence_window_begin(struct sequence_window *window, uint64_t *ret_sequence)
{
    return sequence_window_begin_many(window, 1, ret_sequence);
}

/* Step over what is finished, a word at a time. */
static void advance(struct sequence_window *window)
{
    while (window->base < window->next) {
        uint64_t unfinished = ~*word_of(window, window->base) & bits_of(window->base, window->next);
        if (unfinished != 0) {
            window->base += (uint64_t)__builtin_ctzll(unfinished) - window->base % WORD_BITS;
            return;
        }
        uint64_t next_word = (window->base / WORD_BITS + 1) * WORD_BITS;
        window->base = next_word < window->next ? next_word : window->next;
    }
}

void sequence_window_finish_many(struct sequence_window *window, uint64_t first, uint64_t count)
{
    uint64_t end = first + count;
    ASSERT(first >= window->base || count == 0);
    ASSERT(end <= window->next);
    for (uint64_t at = first; at < end; at = (at / WORD_BITS + 1) * WORD_BITS) {
        uint64_t bits = bits_of(at, end);
        ASSERT((*word_of(window, at) & bits) == 0);
        *word_of(window, at) |= bits;
    }
    advance(window);
}

void sequence_window_finish(struct sequence_window *window, uint64_t sequence)
{
    sequence_window_finish_many(window, sequence, 1);
}

uint64_t sequence_window_lowest_unfinished(const struct sequence_window *window)
{
    return window->base;
}

/*
 * Where in a tablet is its load?  Made of sampled rows.
 *
 *    samples of a second --> merged into the rows known --> points of about equal weight (struct load_detail)
 *                        \-> the rows that are most frequent
 *
 * What is known is a list of rows in order, each with a weight: the operations that it stands for.  Weights
 * decay to about a third in KEY_SAMPLER_WINDOW_NS, so that the list is about what happened lately.  When there
 * are too many rows, as many as may stay are drawn by their weights (key_drawing.h).  Where scans began and
 * ended is kept the same way.
 *
 *   key_sampler.c          samples taken in, and which writes append
 *   key_sampler_detail.c   what is told of them
 *
 * A write is APPENDED if its row is above every row that was seen to be written in the last one to two windows
 * up to the samples before.  What was written in the same second does not count against it: writers that run
 * abreast come in another order than their rows have.  Above k rows that were written all over a tablet lies one
 * in k + 1 of those that are written all over it, too; so nothing is judged until KEY_SAMPLER_JUDGED_MIN
 * are known.  The highest row is kept by itself: of the list, whose rows are drawn by all their weight, many
 * reads would leave it few that are written.
 *
 * Memory: two lists of KEY_SAMPLER_ROWS_MAX rows with KEY_DRAWING_BYTES_MAX of keys, and the frequent keys.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef TABLETSERVER_TABLET_KEY_SAMPLER_H
#define TABLETSERVER_TABLET_KEY_SAMPLER_H

#include "common/base/status.h"
#include "common/model/row_set.h"
#include "common/wire/message_load.h"
#include "tabletserver/storage/store/key_ring.h"
#include "tabletserver/tablet/frequent_keys.h"
#include "tabletserver/tablet/key_drawing.h"

#define KEY_SAMPLER_ROWS_MAX  1024
#define KEY_SAMPLER_SCANS_MAX 128
#define KEY_SAMPLER_WINDOW_NS INT64_C(10000000000)
/* A row is frequent with so much of the load, seen so often lately: of fewer than 100 samples each would be
 * a hundredth. */
#define KEY_SAMPLER_KEY_SHARE    0.01
#define KEY_SAMPLER_KEY_SEEN_MIN 5
/* By so few it is a matter of one in 250 that half of what is written all over lies above them. */
#define KEY_SAMPLER_JUDGED_MIN 8

/* What was seen to be written in some time. */
struct sampled_top {
    struct buffer row; /* the highest */
    uint32_t count;    /* samples; 0 = none, and no row */
};

struct key_sampler {
    struct prng prng;
    struct sampled_rows known;
    struct sampled_rows spare;
    struct sampled_rows scans;
    struct sampled_rows spare_scans;
    struct frequent_keys frequent;
    double elapsed_ns; /* decayed like the weights: what they happened in */
    double observations;
    double appended; /* of the written: weights */
    double judged;   /* those that could be told from appended ones */
    bool can_tell;   /* not when most are written and few were before: they may all be appended */
    struct sampled_top top;        /* of a window that is not over */
    struct sampled_top top_before; /* of the one before */
    uint64_t top_ns;               /* so much of its window is over */
    /* What key_sampler_detail() gives out. */
    struct load_point points[LOAD_POINTS_MAX];
    struct load_key keys[LOAD_KEYS_MAX];
};

/* Errors: STATUS_NO_MEMORY; then there is nothing to deinit. */
enum status key_sampler_init(struct key_sampler *sampler, uint64_t seed);
void key_sampler_deinit(struct key_sampler *sampler);
/* Nothing is known. */
void key_sampler_forget(struct key_sampler *sampler);

/* A tablet that others were cut or joined into: what these know to have been written of its rows is what its
 * own are above or not, else all that a writer comes to who goes through them in order would be appended.
 *
 *    struct sampled_top top = SAMPLED_TOP_INIT;
 *    key_sampler_look(each of them, its range, &top);
 *    key_sampler_begin(its own, &top);             forgets, and takes the top: it may be one of them
 */
#define SAMPLED_TOP_INIT ((struct sampled_top){.row = BUFFER_INIT, .count = 0})
void key_sampler_look(const struct key_sampler *sampler,
                      const struct row_range *range,
                      struct sampled_top *top);
void key_sampler_begin(struct key_sampler *sampler, struct sampled_top *top);

/* Samples of one period, and how many operations one of each kind stands for.  The samples are sorted
 * where they are.  Without memory they are left out. */
void key_sampler_take(struct key_sampler *sampler,
                      struct key_sample *samples,
                      size_t count,
                      const double weights[KEY_TOUCH_COUNT],
                      uint64_t elapsed_ns);

/* What the period had altogether: the detail's figures are parts of it. */
struct key_sampler_period {
    struct bytes start; /* of the tablet; borrowed until the next change */
    uint64_t reads;     /* rows looked at */
    uint64_t writes;
    uint64_t elapsed_ns;
};

/* Good until the next change.  Without points when nothing is known; and while nobody can tell whether its writes
 * append, or whoever decides would take them for others. */
struct load_detail key_sampler_detail(struct key_sampler *sampler,
                                      const struct key_sampler_period *period);

/* Abort unless the lists are sound.  Linear: for tests. */
void key_sampler_check(const struct key_sampler *sampler);

#endif /* TABLETSERVER_TABLET_KEY_SAMPLER_H */

/* Rows that only grow at their end: splits move the one tablet that is written to, and do not part its load. */
#include "master/placement/advice_cure.h"
#include "master/placement/advice_parts.h"

/* Of the tablet's end: what old points say of how rows grow is old. */
static struct key_shape shape_of_end(const struct load_detail *detail)
{
    struct bytes rows[LOAD_POINTS_MAX];
    size_t count = 0;
    for (size_t i = detail->point_count / 2; i < detail->point_count && detail->point_count >= 4;
         i++) {
        rows[count++] = detail->points[i].row;
    }
    return key_shape_of(rows, count);
}

/* The factor by which a point's writes become writes a second. */
static double writes_scale(const struct advice_tablet *tablet)
{
    double writes = 0;
    for (size_t i = 0; i < tablet->detail.point_count; i++) {
        writes += (double)tablet->detail.points[i].writes;
    }
    return writes > 0 ? advice_rates_of(tablet).writes / writes : 0;
}

static bool is_other(struct bytes row, struct bytes front)
{
    return row.size_bytes > 0 && !bytes_starts_with(row, front);
}

bool advice_has_others(const struct advising *advising, struct bytes front)
{
    bool others = false;
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        others = others || is_other(tablet->range.start, front) ||
                 is_other(tablet->range.end, front);
        for (size_t j = 0; j < tablet->detail.point_count; j++) {
            others = others || is_other(tablet->detail.points[j].row, front);
        }
    }
    return others;
}

static bool grows_at_end(const struct advising *advising, const struct advice_tablet *tablet)
{
    double writes = advice_rates_of(tablet).writes;
    return writes >= ADVICE_OPERATIONS_MIN / 2 &&
           advice_permille(writes, advising->all.writes) >= ADVICE_TABLET_PERMILLE &&
           tablet->detail.appended_permille >= ADVICE_APPENDED_PERMILLE;
}

/* Another one that grows behind another beginning, by a quarter of what this one takes at least: what a salt has is parted
 * among several tablets, when they are split. */
static bool grows_besides(const struct advising *advising,
                          const struct advice_tablet *tablet,
                          const struct advice_tablet *other,
                          struct bytes front)
{
    const struct load_detail *detail = &other->detail;
    return grows_at_end(advising, other) ||
           (front.size_bytes > 0 && detail->point_count > 0 &&
            detail->appended_permille >= ADVICE_APPENDED_PERMILLE &&
            advice_rates_of(other).writes >= advice_rates_of(tablet).writes / 4 &&
            is_other(detail->points[detail->point_count - 1].row, front));
}

/* This one among them. */
static size_t count_growing(const struct advising *advising,
                            const struct advice_tablet *tablet,
                            struct bytes front)
{
    size_t growing = 1;
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *other = &advising->table->tablets[i];
        growing += other != tablet && grows_besides(advising, tablet, other, front) ? 1 : 0;
    }
    return growing;
}

/* Does another beginning of such rows take a quarter of what this one does, or more?  Then it is no single series that is
 * hot, also where nobody can tell yet that the other one grows: for a while after its tablet's load began what was written
 * above it long ago is in the way.  Tablets ascend, and so do points: rows that begin alike are side by side. */
static bool has_peers(const struct advising *advising,
                      const struct advice_tablet *tablet,
                      const struct key_shape *shape)
{
    double wanted = advice_rates_of(tablet).writes / 4;
    struct bytes beginning = BYTES_EMPTY;
    double writes = 0;

    for (size_t i = 0; i < advising->table->tablet_count && shape->front.size_bytes > 0; i++) {
        const struct advice_tablet *other = &advising->table->tablets[i];
        double scale = writes_scale(other);
        for (size_t j = 0; j < other->detail.point_count; j++) {
            struct bytes front = BYTES_EMPTY;
            if (!key_shape_front_of(shape, other->detail.points[j].row, &front)) {
                continue;
            }
            writes = bytes_equal(front, beginning) ? writes : 0;
            beginning = front;
            writes += scale * (double)other->detail.points[j].writes;
            if (writes >= wanted && !bytes_equal(front, shape->front)) {
                return true;
            }
        }
    }
    return false;
}

static void cure_monotonic(struct advising *advising,
                           struct advice_finding *finding,
                           const struct cure_growing *growing)
{
    struct buffer text = BUFFER_INIT;
    const char *pattern = cure_growing(growing, &text);
    advice_add_cure(advising, finding, pattern, &text);
}

static void judge_growth(struct advising *advising, const struct advice_tablet *tablet)
{
    const struct load_detail *detail = &tablet->detail;
    uint32_t share = advice_permille(advice_rates_of(tablet).writes, advising->all.writes);
    struct cure_growing growing = {.shape = shape_of_end(detail)};
    struct buffer text = BUFFER_INIT;
    char front[BYTES_PRINTABLE_SIZE_MAX];

    growing.others = advice_has_others(advising, growing.shape.front);
    growing.writers = count_growing(advising, tablet, growing.shape.front);
    growing.peers = has_peers(advising, tablet, &growing.shape);
    buffer_append_format(&text,
                         "%u %% of writes hit one tablet; its rows only grow at the end (%u %% of "
                         "its writes are above all rows before)",
                         share / 10, detail->appended_permille / 10);
    if (growing.shape.known) {
        buffer_append_format(&text, ", by ");
        cure_describe(&growing.shape, &text);
    }
    if (growing.shape.front.size_bytes > 0) {
        buffer_append_format(&text, " behind '%s'", bytes_printable(growing.shape.front, front));
    }
    buffer_append_format(&text, ": a split only moves the one tablet that is written to.");
    struct advice_finding *finding = advice_add(advising, ADVICE_MONOTONIC, share, &text);
    if (finding != NULL) {
        finding->tablet = tablet->tablet;
        finding->range = tablet->range;
        if (detail->point_count > 1) {
            finding->range.start = detail->points[detail->point_count - 1].row;
        }
        cure_monotonic(advising, finding, &growing);
    }
}

void advice_find_growth(struct advising *advising)
{
    const struct advice_table *table = advising->table;

    for (size_t i = 0; i < table->tablet_count; i++) {
        if (grows_at_end(advising, &table->tablets[i])) {
            judge_growth(advising, &table->tablets[i]);
        }
    }
}

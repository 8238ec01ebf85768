#include <inttypes.h>
#include <stdio.h>

#include "master/placement/balance_work.h"

#define MIB 1048576.0

const char *balance_kind_name(enum balance_kind kind)
{
    static const char *const names[] = {
        [BALANCE_SPLIT] = "split", [BALANCE_MERGE] = "merge",   [BALANCE_LEAD] = "lead",
        [BALANCE_MOVE] = "move",   [BALANCE_REFUSE] = "refuse",
    };
    return kind >= BALANCE_SPLIT && kind <= BALANCE_REFUSE ? names[kind] : "unknown";
}

static double percent(uint32_t permille)
{
    return permille / 10.0;
}

/* What the tablet does: so every sentence about a hot one begins.  Returns its length. */
static size_t describe_load(struct balance_decision *decision)
{
    const struct event_figures *figures = &decision->figures;
    int length = snprintf(
        decision->text, sizeof decision->text,
        "%.0f %% of its server's time (limit %.0f %%), %" PRIu64 " operations/s: ",
        percent(figures->share_permille), percent(figures->limit_permille), figures->operations);
    return length > 0 ? (size_t)length : 0; /* it fits: five numbers and words */
}

/* The same of one that stores too much. */
static size_t describe_size(struct balance_decision *decision)
{
    const struct event_figures *figures = &decision->figures;
    int length = snprintf(decision->text, sizeof decision->text,
                          "%.1f MiB are stored in it (limit %.1f MiB), %" PRIu64 " operations/s: ",
                          (double)figures->size_bytes / MIB, (double)figures->limit_bytes / MIB,
                          figures->operations);
    return length > 0 ? (size_t)length : 0;
}

static void describe_split(struct balance_decision *decision, char *rest, size_t rest_bytes)
{
    char row[BYTES_PRINTABLE_SIZE_MAX];
    const struct event_figures *figures = &decision->figures;

    (void)bytes_printable(decision->rows[0], row);
    if (decision->reason == BALANCE_SIZE) {
        (void)snprintf(rest, rest_bytes, "split at '%s'", row);
    } else if (decision->reason == BALANCE_AHEAD) {
        (void)snprintf(rest, rest_bytes,
                       "%.0f %% of the writes append: split ahead of them, at '%s'",
                       percent(figures->appended_permille), row);
    } else if (decision->row_count == 1) {
        (void)snprintf(rest, rest_bytes,
                       "split at '%s', sides %.0f %% off, by %" PRIu64 " observations", row,
                       percent(figures->off_permille), figures->observations);
    } else {
        (void)snprintf(rest, rest_bytes,
                       "split into %zu, from '%s' on, by %" PRIu64 " observations",
                       decision->row_count + 1, row, figures->observations);
    }
}

static void describe_refusal(struct balance_decision *decision, char *rest, size_t rest_bytes)
{
    char key[BYTES_PRINTABLE_SIZE_MAX];
    const struct event_figures *figures = &decision->figures;

    switch ((int)decision->reason) {
    case BALANCE_POPULAR_KEY:
        (void)snprintf(rest, rest_bytes,
                       decision->sampled
                           ? "not split: rows from '%s' up to the next sampled one are %.0f %% of "
                             "it, and none of them can be named"
                           : "not split: row '%s' alone is %.0f %% of it",
                       bytes_printable(decision->key, key), percent(figures->key_permille));
        break;
    case BALANCE_MONOTONIC:
        (void)snprintf(rest, rest_bytes,
                       "not cut in two: %.0f %% of the writes append, all of them would go to "
                       "one side",
                       percent(figures->appended_permille));
        break;
    case BALANCE_TOO_FEW:
        (void)snprintf(rest, rest_bytes,
                       "not split: %" PRIu64 " observations say too little of where its load is",
                       figures->observations);
        break;
    case BALANCE_COOLING_DOWN:
        (void)snprintf(rest, rest_bytes, "not split again so soon");
        break;
    case BALANCE_TOO_WIDE:
        (void)snprintf(rest, rest_bytes,
                       "not split: %.0f %% of the operations would touch both sides",
                       percent(figures->crossing_permille));
        break;
    case BALANCE_LIMIT:
        (void)snprintf(rest, rest_bytes,
                       "not split: there would be more tablets than limits.tablets_max allows");
        break;
    default:
        (void)snprintf(rest, rest_bytes, "not split: there is no other server to take a part");
        break;
    }
}

void balance_describe(struct balance_decision *decision)
{
    const struct event_figures *figures = &decision->figures;

    if (decision->kind == BALANCE_MERGE) {
        (void)snprintf(decision->text, sizeof decision->text,
                       "both together %.1f %% of a server's time (limit %.1f %%): merged",
                       percent(figures->share_permille), percent(figures->limit_permille));
    } else if (decision->reason == BALANCE_AHEAD && decision->kind != BALANCE_SPLIT) {
        (void)snprintf(decision->text, sizeof decision->text,
                       "rows will be appended to it: to a server that uses %.0f %% of its time, "
                       "from one that uses %.0f %%",
                       percent(figures->to_permille), percent(figures->from_permille));
    } else if (decision->kind == BALANCE_LEAD || decision->kind == BALANCE_MOVE) {
        (void)snprintf(
            decision->text, sizeof decision->text,
            "its server uses %.0f %% of its time, the mean is %.0f %%: %.1f %% go to one "
            "that uses %.0f %%",
            percent(figures->from_permille), percent(figures->mean_permille),
            percent(figures->share_permille), percent(figures->to_permille));
    } else {
        size_t length = figures->size_bytes > 0 ? describe_size(decision) : describe_load(decision);
        char *rest = decision->text + length;
        size_t rest_bytes = sizeof decision->text - length;
        if (decision->kind == BALANCE_SPLIT) {
            describe_split(decision, rest, rest_bytes);
        } else {
            describe_refusal(decision, rest, rest_bytes);
        }
    }
}

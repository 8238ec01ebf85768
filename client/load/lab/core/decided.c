#include "client/load/lab/core/decided.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/load/lab/core/report/sentence.h"

#define AVERAGES_US INT64_C(2000000) /* reports are of a second, and come in the next */

/* How the master calls a kind; how a program finds it here; and how people are told of one and of several. */
static const struct {
    const char *kind;
    const char *name;
    const char *one;
    const char *several;
} WORDS[LAB_DECISION_KINDS] = {
    [LAB_DECIDED_SPLIT] = {"split", "splits", "split", "splits"},
    [LAB_DECIDED_MERGE] = {"merge", "merges", "merge", "merges"},
    [LAB_DECIDED_MOVE] = {"move", "moves", "move", "moves"},
    [LAB_DECIDED_LEAD] = {"lead", "hand_overs", "hand-over", "hand-overs"},
    [LAB_DECIDED_OTHER] = {"", "others", "other", "others"},
};

const char *lab_decision_name(enum lab_decision_kind kind)
{
    return WORDS[kind].name;
}

/* --- of what -------------------------------------------------------------------------------------- */

bool lab_is_of_writes(int64_t time_us, const struct lab_times *times)
{
    bool is_of_history = time_us >= times->since_us && time_us < times->queries_us;
    return is_of_history ||
           (time_us >= times->writes_us + AVERAGES_US && time_us <= times->ended_us + AVERAGES_US);
}

/* --- counting --------------------------------------------------------------------------------- */

static struct lab_decisions *decisions_of(struct lab_decided *decided, const char *kind)
{
    size_t i = 0;
    while (i < LAB_DECIDED_OTHER && strcmp(WORDS[i].kind, kind) != 0) {
        i++;
    }
    return &decided->kinds[i];
}

/* Where it is in the list, or its length. */
static size_t place_of(const struct lab_decided *decided, const char *reason)
{
    size_t i = 0;
    while (i < decided->refusal_count && strcmp(decided->refusals[i].reason, reason) != 0) {
        i++;
    }
    return i;
}

/* The name under which it is counted: its own, unless that is too long or one too many.  The last place
 * is kept for those that are. */
static const char *counted_as(const struct lab_decided *decided, const char *reason)
{
    bool has_others = place_of(decided, LAB_REASON_OTHER) < decided->refusal_count;
    size_t kept = has_others ? 0 : 1;
    bool is_there = place_of(decided, reason) < decided->refusal_count;
    bool fits = reason[0] != '\0' && strlen(reason) < LAB_REASON_BYTES &&
                decided->refusal_count + kept < LAB_REFUSALS_MAX;
    return is_there || fits ? reason : LAB_REASON_OTHER;
}

static size_t take_place(struct lab_decided *decided, const char *reason)
{
    size_t place = place_of(decided, reason);
    if (place == decided->refusal_count) {
        struct lab_refusal *refusal = &decided->refusals[decided->refusal_count++];
        *refusal = (struct lab_refusal){0};
        (void)snprintf(refusal->reason, sizeof refusal->reason, "%s", reason);
    }
    return place;
}

static void add_refusal(struct lab_decided *decided, const char *reason)
{
    struct lab_refusal *refusals = decided->refusals;
    size_t place = take_place(decided, counted_as(decided, reason));
    refusals[place].count++;
    for (; place > 0 && refusals[place - 1].count < refusals[place].count; place--) {
        struct lab_refusal rarer = refusals[place - 1];
        refusals[place - 1] = refusals[place];
        refusals[place] = rarer;
    }
}

void lab_decided_add(struct lab_decided *decided, const struct edubba_event *event)
{
    if (strcmp(event->kind, "refuse") == 0) {
        add_refusal(decided, event->reason);
        return;
    }
    struct lab_decisions *decisions = decisions_of(decided, event->kind);
    decisions->count++;
    decisions->done += strcmp(event->outcome, "done") == 0;
    decisions->given_up += strcmp(event->outcome, "given_up") == 0;
}

/* --- in words --------------------------------------------------------------------------------- */

static void say_outcomes(struct lab_sentence *line, const struct lab_decisions *decisions)
{
    if (decisions->done > 0 && decisions->given_up > 0) {
        lab_say(line, " (%" PRIu64 " done, %" PRIu64 " given up)", decisions->done,
                decisions->given_up);
    } else if (decisions->done > 0) {
        lab_say(line, " (%" PRIu64 " done)", decisions->done);
    } else if (decisions->given_up > 0) {
        lab_say(line, " (%" PRIu64 " given up)", decisions->given_up);
    }
}

static void say_decisions(struct lab_sentence *line, const struct lab_decided *decided)
{
    const char *before = "decided: ";
    for (size_t i = 0; i < LAB_DECISION_KINDS; i++) {
        const struct lab_decisions *decisions = &decided->kinds[i];
        if (decisions->count > 0) {
            lab_say(line, "%s%" PRIu64 " %s", before, decisions->count,
                    decisions->count == 1 ? WORDS[i].one : WORDS[i].several);
            say_outcomes(line, decisions);
            before = ", ";
        }
    }
}

void lab_decided_text(const struct lab_decided *decided, char out[LAB_DECIDED_BYTES])
{
    struct lab_sentence line = lab_sentence_in(out, LAB_DECIDED_BYTES);
    say_decisions(&line, decided);
    const char *before = line.size > 0 ? "; refused: " : "refused: ";
    for (size_t i = 0; i < decided->refusal_count; i++) {
        lab_say(&line, "%s%" PRIu64 " %s", before, decided->refusals[i].count,
                decided->refusals[i].reason);
        before = ", ";
    }
}

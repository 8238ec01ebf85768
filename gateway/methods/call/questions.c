#include "gateway/methods/call/questions.h"

#include <pthread.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define TOO_MANY "Too many calls wait for a master; try again"

/* Linked while it is being asked: it takes calls until it is not. */
struct question {
    struct waiting waiting; /* first */
    struct question *next;
    struct questions *questions;
    const struct question_kind *kind;
    struct question_wait *first; /* who waits for what is asked next; under lock */
    struct question_wait **last;
    char name[];
};

struct questions {
    struct waiters *waiters;
    void *context;
    uint32_t deadline_max_ms;
    pthread_mutex_t lock;
    struct question *asked; /* under lock; as many as there are waiters, and what they queue */
};

struct questions *questions_create(struct waiters *waiters, void *context, uint32_t deadline_max_ms)
{
    struct questions *questions = memory_allocate_zeroed(1, sizeof *questions);
    if (questions != NULL) {
        questions->waiters = waiters;
        questions->context = context;
        questions->deadline_max_ms = deadline_max_ms;
        ASSERT(pthread_mutex_init(&questions->lock, NULL) == 0);
    }
    return questions;
}

void questions_destroy(struct questions *questions)
{
    if (questions != NULL) {
        ASSERT(questions->asked == NULL);
        ASSERT(pthread_mutex_destroy(&questions->lock) == 0);
        memory_free(questions);
    }
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Under lock. */
static struct question_wait *take(struct question *question)
{
    struct question_wait *taken = question->first;
    question->first = NULL;
    question->last = &question->first;
    return taken;
}

static struct question_wait *take_late(struct question *question)
{
    (void)pthread_mutex_lock(&question->questions->lock);
    struct question_wait *taken = take(question);
    (void)pthread_mutex_unlock(&question->questions->lock);
    return taken;
}

/* Under lock. */
static void unlink_question(struct questions *questions, const struct question *question)
{
    struct question **at = &questions->asked;
    while (*at != question) {
        at = &(*at)->next;
    }
    *at = question->next;
}

/* Those who wait; NULL = nobody, and nobody can join it any more. */
static struct question_wait *take_or_end(struct question *question)
{
    struct questions *questions = question->questions;
    (void)pthread_mutex_lock(&questions->lock);
    struct question_wait *taken = take(question);
    if (taken == NULL) {
        unlink_question(questions, question);
    }
    (void)pthread_mutex_unlock(&questions->lock);
    return taken;
}

static void tell(struct question_wait *waits, enum edubba_code code, const char *text)
{
    while (waits != NULL) {
        struct question_wait *wait = waits;
        waits = wait->next; /* before its call may be gone */
        wait->answered(wait, code, text);
    }
}

/* Those whose callers are there, with the longest patience of them. */
static struct question_wait *drop_cancelled(const struct question *question,
                                            struct question_wait *waits,
                                            uint32_t *ret_patience_ms)
{
    struct question_wait *kept = NULL;
    struct question_wait **last = &kept;
    uint32_t longest_ms = 1;
    uint32_t most_ms = question->kind->patience_max_ms > 0 ? question->kind->patience_max_ms
                                                           : question->questions->deadline_max_ms;
    while (waits != NULL) {
        struct question_wait *wait = waits;
        waits = wait->next;
        if (rpc_call_is_cancelled(wait->call)) {
            wait->answered(wait, EDUBBA_CANCELLED, "The caller is gone");
            continue;
        }
        uint32_t patience_ms = rpc_call_patience_ms(wait->call, most_ms);
        longest_ms = patience_ms > longest_ms ? patience_ms : longest_ms;
        *last = wait;
        last = &wait->next;
    }
    *last = NULL;
    *ret_patience_ms = longest_ms;
    return kept;
}

static void ask_once(struct question *question, struct question_wait *waits)
{
    struct edubba_error error = {0};
    uint32_t patience_ms = 0;
    waits = drop_cancelled(question, waits, &patience_ms);
    if (waits == NULL) {
        return;
    }
    edubba_thread_deadline(patience_ms);
    enum edubba_code code = question->kind->ask(question->questions->context, question->name,
                                                &error);
    edubba_thread_deadline(0);
    struct question_wait *late = code == EDUBBA_OK ? take_late(question) : NULL;
    tell(waits, code, error.text);
    tell(late, code, error.text);
}

static void run(struct waiting *waiting)
{
    struct question *question = (struct question *)waiting;
    struct question_wait *waits = take_or_end(question);
    while (waits != NULL) {
        ask_once(question, waits);
        waits = take_or_end(question);
    }
    memory_free(question);
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Under lock; NULL = it is not being asked. */
static struct question *find(const struct questions *questions,
                             const struct question_kind *kind,
                             const char *name)
{
    struct question *question = questions->asked;
    while (question != NULL && (question->kind != kind || strcmp(question->name, name) != 0)) {
        question = question->next;
    }
    return question;
}

/* Under lock; NULL without memory, or while too many wait. */
static struct question *begin(struct questions *questions,
                              const struct question_kind *kind,
                              const char *name)
{
    size_t size = strlen(name) + 1;
    struct question *question = memory_allocate(sizeof *question + size);
    if (question == NULL) {
        return NULL;
    }
    *question = (struct question){
        .waiting = {.run = run},
        .next = questions->asked,
        .questions = questions,
        .kind = kind,
    };
    question->last = &question->first;
    memcpy(question->name, name, size);
    if (!waiters_add(questions->waiters, &question->waiting)) {
        memory_free(question);
        return NULL;
    }
    questions->asked = question; /* run() waits for the lock */
    return question;
}

void questions_join(struct questions *questions,
                    const struct question_kind *kind,
                    const char *name,
                    struct question_wait *wait)
{
    (void)pthread_mutex_lock(&questions->lock);
    struct question *question = find(questions, kind, name);
    if (question == NULL) {
        question = begin(questions, kind, name);
    }
    if (question != NULL) {
        wait->next = NULL;
        *question->last = wait;
        question->last = &wait->next;
    }
    (void)pthread_mutex_unlock(&questions->lock);
    if (question == NULL) {
        wait->answered(wait, EDUBBA_UNAVAILABLE, TOO_MANY);
    }
}

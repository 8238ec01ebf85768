#include "master/shell/committer.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

struct committer {
    struct committer_options options;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool closing;
    bool tries;
    uint64_t transaction; /* 0 = nothing to do */
    const struct catalog_put *puts;
    size_t put_count;
};

static struct committer_result commit(const struct committer *committer,
                                      uint64_t transaction,
                                      const struct catalog_put *puts,
                                      size_t put_count)
{
    struct error error = {0};
    int64_t start_ns = clock_monotonic_ns();
    struct committer_result result = {.transaction = transaction};
    result.status = coordinator_commit(committer->options.coordinator, puts, put_count, &error);
    result.duration_ns = clock_monotonic_ns() - start_ns;
    if (result.status != STATUS_OK) {
        (void)snprintf(result.text, sizeof result.text, "%.150s", error.text);
    }
    return result;
}

/* --- a trial ------------------------------------------------------------------------------------ */

struct first_record {
    struct buffer key;
    struct buffer value;
    bool found;
};

/* It ends the load. */
static enum status take_first(void *context,
                              struct bytes key,
                              struct bytes value,
                              struct error *ret_error)
{
    struct first_record *first = context;
    (void)ret_error;
    buffer_append_bytes(&first->key, key);
    buffer_append_bytes(&first->value, value);
    first->found = !first->key.failed && !first->value.failed;
    return STATUS_CANCELLED;
}

/* Nobody else writes records, and we do one thing at a time: what was read is what is there. */
static void try_to_write(const struct committer *committer)
{
    struct first_record first = {BUFFER_INIT, BUFFER_INIT, false};
    struct error error = {0};
    enum status status = coordinator_load(committer->options.coordinator, take_first, &first,
                                          &error);

    if (status == STATUS_CANCELLED && first.found) {
        const struct catalog_put put = {.key = buffer_bytes(&first.key),
                                        .value = buffer_bytes(&first.value)};
        struct committer_result result = commit(committer, 0, &put, 1);
        committer->options.on_done(committer->options.context, &result);
    }
    buffer_deinit(&first.key);
    buffer_deinit(&first.value);
}

/* --- the thread --------------------------------------------------------------------------------- */

static void *work(void *context)
{
    struct committer *committer = context;

    (void)pthread_mutex_lock(&committer->mutex);
    for (;;) {
        while (committer->transaction == 0 && !committer->tries && !committer->closing) {
            (void)pthread_cond_wait(&committer->changed, &committer->mutex);
        }
        if (committer->transaction == 0 && committer->closing) {
            break;
        }
        bool tries = committer->transaction == 0;
        committer->tries = false;
        (void)pthread_mutex_unlock(&committer->mutex);
        if (tries) {
            try_to_write(committer);
            (void)pthread_mutex_lock(&committer->mutex);
            continue;
        }
        struct committer_result result = commit(committer, committer->transaction, committer->puts,
                                                committer->put_count);
        (void)pthread_mutex_lock(&committer->mutex);
        committer->transaction = 0; /* before telling: the answer may be the next one */
        (void)pthread_mutex_unlock(&committer->mutex);
        committer->options.on_done(committer->options.context, &result);
        (void)pthread_mutex_lock(&committer->mutex);
    }
    (void)pthread_mutex_unlock(&committer->mutex);
    return NULL;
}

enum status committer_open(const struct committer_options *options,
                           struct committer **ret_committer,
                           struct error *ret_error)
{
    struct committer *committer = memory_allocate_zeroed(1, sizeof *committer);

    if (committer == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the committer");
    }
    committer->options = *options;
    (void)pthread_mutex_init(&committer->mutex, NULL);
    (void)pthread_cond_init(&committer->changed, NULL);
    int result = pthread_create(&committer->thread, NULL, work, committer);
    if (result != 0) {
        (void)pthread_cond_destroy(&committer->changed);
        (void)pthread_mutex_destroy(&committer->mutex);
        memory_free(committer);
        return error_set(ret_error, STATUS_IO, "cannot start the committer: %s", strerror(result));
    }
    *ret_committer = committer;
    return STATUS_OK;
}

void committer_start(struct committer *committer,
                     uint64_t transaction,
                     const struct catalog_put *puts,
                     size_t put_count)
{
    ASSERT(transaction != 0);
    (void)pthread_mutex_lock(&committer->mutex);
    ASSERT(committer->transaction == 0);
    committer->transaction = transaction;
    committer->puts = puts;
    committer->put_count = put_count;
    (void)pthread_cond_signal(&committer->changed);
    (void)pthread_mutex_unlock(&committer->mutex);
}

void committer_try(struct committer *committer)
{
    (void)pthread_mutex_lock(&committer->mutex);
    committer->tries = true;
    (void)pthread_cond_signal(&committer->changed);
    (void)pthread_mutex_unlock(&committer->mutex);
}

void committer_close(struct committer *committer)
{
    if (committer == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&committer->mutex);
    committer->closing = true;
    (void)pthread_cond_signal(&committer->changed);
    (void)pthread_mutex_unlock(&committer->mutex);
    (void)pthread_join(committer->thread, NULL);
    (void)pthread_cond_destroy(&committer->changed);
    (void)pthread_mutex_destroy(&committer->mutex);
    memory_free(committer);
}

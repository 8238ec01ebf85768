#include <grpc/support/time.h>

#include "common/base/assert.h"
#include "common/io/thread.h"
#include "gateway/rpc/rpc_internal.h"
#include "gateway/rpc/send_together.h"

/* So many in a row, and what they brought starts, also when more are there: servers work meanwhile. */
#define EVENTS_MAX 8

/* So many answers go out together at the most, so that who asked works while others are sent. */
#define ANSWERS_MAX 8

/* So few calls that run have few answers that could go together; who waits for them would wait for a
 * change of threads more. */
#define CALLS_FEW 8

/* --- what is ready to be sent ---------------------------------------------------------------- */

/* Nothing comes of it: the thread is awake. */
static void on_woken(struct rpc_event *event, bool ok)
{
    (void)event;
    (void)ok;
}

/* True: it sleeps, and the caller wakes it. */
static bool hand_over(struct rpc_thread *thread, struct rpc_call *call)
{
    call->next_ready = NULL;
    (void)pthread_mutex_lock(&thread->lock);
    *thread->ready_last = call;
    thread->ready_last = &call->next_ready;
    bool was_asleep = thread->is_asleep;
    thread->is_asleep = false;
    (void)pthread_mutex_unlock(&thread->lock);
    return was_asleep;
}

/* An empty batch has ended at once. */
static void wake(struct rpc_thread *thread, struct rpc_call *call)
{
    grpc_call_error error = grpc_call_start_batch(call->call, NULL, 0, &thread->woken, NULL);
    ASSERT(error == GRPC_CALL_OK);
}

void rpc_thread_end_call(struct rpc_call *call)
{
    struct rpc_thread *thread = call->thread;
    rpc_call_hold(call); /* for us: it may be gone while we are in here */
    if (atomic_load(&call->server->calls_running) <= CALLS_FEW) {
        rpc_call_send_end(call);
    } else if (hand_over(thread, call)) {
        wake(thread, call);
    }
    rpc_call_release(call);
}

static struct rpc_call *take_ready(struct rpc_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
    struct rpc_call *call = thread->ready;
    thread->ready = NULL;
    thread->ready_last = &thread->ready;
    (void)pthread_mutex_unlock(&thread->lock);
    return call;
}

static void send_ready(struct rpc_thread *thread)
{
    struct rpc_call *call = take_ready(thread);
    for (unsigned count = 1; call != NULL; count++) {
        struct rpc_call *next = call->next_ready;
        bool is_last = next == NULL || count % ANSWERS_MAX == 0;
        send_together_more(!is_last);
        rpc_call_send_end(call);
        if (is_last) {
            send_together_flush();
        }
        call = next;
    }
}

/* --- waiting --------------------------------------------------------------------------------- */

/* False: something is ready. */
static bool fall_asleep(struct rpc_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
    thread->is_asleep = thread->ready == NULL;
    bool is_asleep = thread->is_asleep;
    (void)pthread_mutex_unlock(&thread->lock);
    return is_asleep;
}

static void be_awake(struct rpc_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
    thread->is_asleep = false;
    (void)pthread_mutex_unlock(&thread->lock);
}

static grpc_event next_event(struct rpc_thread *thread, bool waits)
{
    if (!waits || !fall_asleep(thread)) {
        return grpc_completion_queue_next(thread->queue, gpr_inf_past(GPR_CLOCK_REALTIME), NULL);
    }
    grpc_event event = grpc_completion_queue_next(thread->queue, gpr_inf_future(GPR_CLOCK_REALTIME),
                                                  NULL);
    be_awake(thread);
    return event;
}

void rpc_thread_run(struct rpc_thread *thread)
{
    const struct rpc_settings *settings = &thread->server->settings;
    unsigned events = 0;
    for (;;) {
        grpc_event event = next_event(thread, events == 0);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return;
        }
        if (event.type == GRPC_OP_COMPLETE) {
            struct rpc_event *tag = event.tag;
            tag->run(tag, event.success != 0);
            events++;
        }
        if (event.type == GRPC_QUEUE_TIMEOUT || events == EVENTS_MAX) {
            if (settings->on_idle != NULL) {
                settings->on_idle(settings->context);
            }
            send_ready(thread);
            events = 0;
        }
    }
}

/* --- life ------------------------------------------------------------------------------------ */

void rpc_thread_init(struct rpc_thread *thread,
                     struct rpc_server *server,
                     grpc_completion_queue *queue)
{
    *thread = (struct rpc_thread){.server = server, .queue = queue, .woken = {on_woken}};
    thread->ready_last = &thread->ready;
    ASSERT(pthread_mutex_init(&thread->lock, NULL) == 0);
}

void rpc_thread_deinit(struct rpc_thread *thread)
{
    ASSERT(thread->ready == NULL);
    ASSERT(pthread_mutex_destroy(&thread->lock) == 0);
}

static void *run_thread(void *context)
{
    struct rpc_thread *thread = context;
    const struct rpc_settings *settings = &thread->server->settings;
    thread_name_set("rpc");
    if (settings->on_idle != NULL) {
        settings->on_idle(settings->context);
    }
    rpc_thread_run(thread);
    return NULL;
}

bool rpc_thread_start(struct rpc_thread *thread)
{
    return pthread_create(&thread->thread, NULL, run_thread, thread) == 0;
}

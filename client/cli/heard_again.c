#include "client/cli/heard_again.h"

#include <inttypes.h>
#include <time.h>

#define LOOK_NS   INT64_C(250000000)
#define LOOKS_MAX 40

enum edubba_code list_lost(const struct session *session,
                           const struct recover_order *order,
                           struct lost_list *ret_list,
                           struct edubba_error *ret_error)
{
    return edubba_list_lost(session->client, order->table, order->tablet, &ret_list->tablets,
                            &ret_list->count, &ret_list->more, ret_error);
}

static const struct edubba_copy *copy_in(const struct edubba_lost_tablet *tablet, uint64_t store)
{
    for (size_t i = 0; i < tablet->copy_count; i++) {
        if (store == 0 || tablet->copies[i].store == store) {
            return &tablet->copies[i];
        }
    }
    return NULL;
}

/* When the server with that copy had been heard of by the time of the list. */
static bool was_heard(const struct lost_list *list,
                      uint64_t tablet,
                      uint64_t store,
                      int64_t *ret_heard_us)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct edubba_copy *copy = list->tablets[i].number == tablet
                                             ? copy_in(&list->tablets[i], store)
                                             : NULL;
        if (copy != NULL) {
            *ret_heard_us = copy->heard_us;
            return true;
        }
    }
    return false;
}

/* The copy that would be chosen of the tablet, whose server was not heard of since `first`; NULL = there is none.
 * What the master's clock said of it needs only be another time: clocks are set back, too. */
static const struct edubba_copy *silent_copy(const struct lost_list *first,
                                             const struct edubba_lost_tablet *tablet,
                                             uint64_t store)
{
    const struct edubba_copy *copy = copy_in(tablet, store);
    int64_t heard_us = 0;
    bool is_choosable = copy != NULL && copy->is_alive && copy->is_held && !copy->is_empty;
    return is_choosable && was_heard(first, tablet->number, copy->store, &heard_us) &&
                   heard_us == copy->heard_us
               ? copy
               : NULL;
}

static enum edubba_code say_silent(const struct edubba_lost_tablet *tablet,
                                   const struct edubba_copy *copy,
                                   struct edubba_error *ret_error)
{
    ret_error->code = EDUBBA_UNAVAILABLE;
    (void)snprintf(ret_error->text, sizeof ret_error->text,
                   "nothing is chosen: of tablet %" PRIu64 " it would be the copy in store %" PRIu64
                   ", and its server at %.100s has not been heard of for %d s, though it counts as "
                   "alive still: start it, wait, or choose another with --store",
                   tablet->number, copy->store, copy->address,
                   (int)(LOOKS_MAX * LOOK_NS / 1000000000));
    return ret_error->code;
}

/* The first tablet of the list that a server is to be heard of for; NULL = there is none. */
static const struct edubba_lost_tablet *find_silent(const struct lost_list *first,
                                                    const struct lost_list *list,
                                                    uint64_t store)
{
    for (size_t i = 0; i < list->count; i++) {
        if (silent_copy(first, &list->tablets[i], store) != NULL) {
            return &list->tablets[i];
        }
    }
    return NULL;
}

enum edubba_code wait_heard_again(const struct session *session,
                                  const struct recover_order *order,
                                  struct lost_list *list,
                                  struct edubba_error *ret_error)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    const struct lost_list first = *list;
    const struct edubba_lost_tablet *silent = find_silent(&first, list, order->store);
    enum edubba_code code = EDUBBA_OK;

    for (int looks = 0; code == EDUBBA_OK && silent != NULL && looks < LOOKS_MAX; looks++) {
        (void)nanosleep(&pause, NULL);
        if (list->tablets != first.tablets) {
            edubba_free(list->tablets);
        }
        *list = (struct lost_list){0};
        code = list_lost(session, order, list, ret_error);
        silent = find_silent(&first, list, order->store);
    }
    if (code == EDUBBA_OK && silent != NULL) {
        code = say_silent(silent, silent_copy(&first, silent, order->store), ret_error);
    }
    if (list->tablets != first.tablets) {
        edubba_free(first.tablets);
    }
    return code;
}

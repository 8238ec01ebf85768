#include "master/shell/master_parts.h"

#include <stdio.h>

#include "common/io/clock.h"

bool master_may_act(const struct master *master)
{
    return master->reign != NULL && reign_may_act(master->reign);
}

void master_find_active(const struct master *master, char *text)
{
    text[0] = '\0';
    if (master->elector == NULL) {
        (void)snprintf(text, ETCD_LEADER_BYTES_MAX, "%s", master->address);
    } else if (master->reign == NULL) {
        elector_leader(master->elector, text);
    }
}

/* From the loop.  Of a reign that begins, the console may not be there yet. */
static void on_load(void *context, struct located_report *load)
{
    struct master *master = context;
    if (master->console == NULL) {
        located_report_destroy(load);
    } else {
        console_take_load(master->console, load);
    }
}

enum status master_begin_reign(struct master *master, uint64_t number, struct error *ret_error)
{
    const struct reign_options options = {
        .settings = master->settings,
        .elector = master->elector,
        .number = number,
        .stopping = &master->stopping,
        .context = master,
        .on_committed = mail_on_committed,
        .on_load = on_load,
    };
    master->published_ns = 0; /* soon: it has another role now */
    return reign_open(&options, &master->reign, ret_error);
}

void master_end_reign(struct master *master, const char *text)
{
    if (master->reign != NULL) {
        reign_give_events(master->reign, &master->events);
    }
    reign_close(master->reign, text);
    master->reign = NULL;
    master->published_ns = 0;
}

/* A catalog that another try will not make readable ends the process: a person has to look. */
static bool is_final(enum status status)
{
    return status == STATUS_VERSION || status == STATUS_FAILED_PRECONDITION ||
           status == STATUS_CORRUPT || status == STATUS_INVALID_ARGUMENT;
}

static void try_reign(struct master *master, uint64_t number)
{
    struct error error = {.status = STATUS_OK};
    int64_t begun_ns = clock_monotonic_ns();
    enum status status = master_begin_reign(master, number, &error);

    if (status == STATUS_OK) {
        reign_take_events(master->reign, &master->events);
        LOG_EVENT(LOG_LEVEL_INFO, "active", LOG_ID("reign", number),
                  LOG_I64("load_us", (clock_monotonic_ns() - begun_ns) / 1000));
        return;
    }
    LOG_EVENT(LOG_LEVEL_WARN, "reign_failed", LOG_ID("reign", number),
              LOG_TEXT("error", error.text));
    elector_resign(master->elector, number);
    if (is_final(status)) {
        master->failure = error;
    }
}

void master_follow_election(struct master *master)
{
    uint64_t wanted = elector_reign(master->elector);
    uint64_t number = master->reign == NULL ? 0 : reign_number(master->reign);

    if (master->reign != NULL && reign_failure(master->reign)->status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "reign_failed", LOG_ID("reign", number),
                  LOG_TEXT("error", reign_failure(master->reign)->text));
        master_end_reign(master,
                         "the catalog could not be written; it may or may not have been done");
        elector_resign(master->elector, number);
    } else if (master->reign != NULL && wanted != number) {
        master_end_reign(master,
                         "this master is not the active one any more; it may or may not have been "
                         "done");
    }
    wanted = elector_reign(master->elector);
    if (master->reign == NULL && wanted != 0) {
        try_reign(master, wanted);
    }
}

void master_follow_reign(struct master *master)
{
    const struct error *failure = reign_failure(master->reign);
    if (failure->status != STATUS_OK) {
        master->failure = *failure;
    }
}

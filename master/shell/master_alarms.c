/* What this master cannot do, until a person makes room: told with its status, in the words of `ebt status`. */
#include <stdio.h>

#include "common/base/json_text.h"
#include "master/shell/master_metrics.h"
#include "master/shell/master_parts.h"

#define ALARM_BYTES_MAX 600

struct alarm_list {
    struct buffer *out;
    size_t count;
};

static void tell(struct alarm_list *list, const char *code, const char *message, const char *action)
{
    buffer_append_format(list->out, "%s{\"code\":\"%s\",\"message\":", list->count == 0 ? "" : ",",
                         code);
    json_text(list->out, bytes_of_text(message));
    buffer_append_format(list->out, ",\"action\":");
    json_text(list->out, bytes_of_text(action));
    buffer_append_u8(list->out, '}');
    list->count += 1;
}

static void tell_refusal(const struct master *master,
                         const struct error *refusal,
                         struct alarm_list *list)
{
    char message[ALARM_BYTES_MAX];
    char action[ALARM_BYTES_MAX];

    (void)snprintf(
        message, sizeof message,
        "the master%s%.100s cannot change the catalog (%.200s): tablets are read and written "
        "as before, but nothing is created, split or replaced",
        master->address[0] != '\0' ? " at " : "", master->address, refusal->text);
    if (master->elector != NULL) {
        (void)snprintf(
            action, sizeof action,
            "If etcd is full, as etcdctl alarm list says: etcdctl compact, defrag and alarm "
            "disarm (docs/masters.md, \"etcd is full\").  It goes on by itself within "
            "seconds.");
    } else {
        (void)snprintf(
            action, sizeof action,
            "Make room on the disk of the master's folder, %.300s; or mend it, where it hangs.  It "
            "goes on by itself within seconds.",
            master->settings->folder);
    }
    tell(list, "catalog_not_written", message, action);
}

static void tell_history(const struct master *master,
                         const struct console_keeping *keeping,
                         struct alarm_list *list)
{
    char message[ALARM_BYTES_MAX];
    char action[ALARM_BYTES_MAX];
    bool both = keeping->heat != NULL && keeping->events != NULL;

    (void)snprintf(message, sizeof message,
                   "the master%s%.100s cannot keep %s (%s): what is new is lost when it ends",
                   master->address[0] != '\0' ? " at " : "", master->address,
                   both                    ? "heat map and events"
                   : keeping->heat != NULL ? "the heat map"
                                           : "events",
                   keeping->heat != NULL ? keeping->heat : keeping->events);
    (void)snprintf(
        action, sizeof action,
        "Make room on the disk of the master's folder, %.300s, or mend it, where it hangs: what it "
        "still has is kept within a minute.  Where its log says not_kept, restart it then.",
        master->settings->folder);
    tell(list, "history_not_kept", message, action);
}

void master_append_alarms(const struct master *master, struct buffer *out)
{
    struct console_keeping keeping = {NULL, NULL};
    struct alarm_list list = {.out = out};
    const struct error *refusal = master->reign != NULL ? reign_refusal(master->reign) : NULL;
    bool refused = refusal != NULL && refusal->status != STATUS_OK;

    if (master->console != NULL) {
        console_look(master->console, &keeping);
    }
    bool lossy = keeping.heat != NULL || keeping.events != NULL;
    buffer_append_format(out, "\"alarms\":[");
    if (refused) {
        tell_refusal(master, refusal, &list);
    }
    if (lossy) {
        tell_history(master, &keeping, &list);
    }
    buffer_append_u8(out, ']');
    master_metrics_alarms(refused, lossy);
}

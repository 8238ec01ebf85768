#include "client/cli/overview.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- alarms ----------------------------------------------------------------------------------- */

/* NULL without memory. */
static struct alarm *add_alarm(struct overview *overview, const char *code)
{
    size_t count = overview->alarm_count;
    if ((count & (count - 1)) == 0) { /* full at every power of two, and at none */
        size_t capacity = count == 0 ? 1 : 2 * count;
        struct alarm *alarms = realloc(overview->alarms, capacity * sizeof *alarms);
        if (alarms == NULL) {
            overview->no_memory = true;
            return NULL;
        }
        overview->alarms = alarms;
    }
    struct alarm *alarm = &overview->alarms[overview->alarm_count++];
    *alarm = (struct alarm){0};
    (void)snprintf(alarm->code, sizeof alarm->code, "%s", code);
    return alarm;
}

__attribute__((format(printf, 2, 3))) static void say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, ALARM_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

/* --- masters ---------------------------------------------------------------------------------- */

static void note_silent_master(struct overview *overview, const struct edubba_master *master)
{
    struct alarm *alarm = add_alarm(overview, "master_silent");
    if (alarm != NULL) {
        say(alarm->message, "the master at %s is silent: %s", master->address, master->error);
        say(alarm->action, "Start it again, or take its address out of the list (--masters, "
                           "EDUBBA_MASTERS) if it is gone for good.");
    }
}

static void note_nobody_leads(struct overview *overview)
{
    struct alarm *alarm = add_alarm(overview, "no_active_master");
    if (alarm != NULL) {
        say(alarm->message,
            "no master is active: tablets are read and written as before, unless a server of theirs is "
            "gone, too; nothing is created, split or replaced, and of servers and tables nothing is "
            "known");
        say(alarm->action,
            "If this lasts for more than ten seconds: start a master; with "
            "coordinator = etcd, see that most members of etcd are there, and that it "
            "is not full (etcdctl alarm list).");
    }
}

void overview_note_masters(struct overview *overview,
                           const struct edubba_master *masters,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct edubba_master *master = &masters[i];
        bool is_master = strcmp(master->state, "no master") != 0;
        overview->masters += is_master;
        overview->cluster = overview->cluster == 0 ? master->cluster : overview->cluster;
        if (strcmp(master->state, "active") == 0) {
            overview->active = master;
        } else if (strcmp(master->state, "silent") == 0) {
            note_silent_master(overview, master);
        }
    }
    if (overview->active == NULL) {
        note_nobody_leads(overview);
    }
}

void overview_note_dispute(struct overview *overview, const char *why)
{
    struct alarm *alarm = add_alarm(overview, "catalog_disputed");
    overview->disputed = true;
    if (alarm != NULL) {
        say(alarm->message, "the catalog is disputed: %s", why);
        say(alarm->action,
            "Put the right catalog back.  Meanwhile nothing is dropped; tablets are read and written by "
            "clients that know a tablet server, but nothing is created, split or replaced, and the master "
            "tells of no tables and counts servers that it refuses as gone.");
    }
}

void overview_note_told(struct overview *overview,
                        const char *code,
                        const char *message,
                        const char *action)
{
    struct alarm *alarm = add_alarm(overview, code);
    if (alarm != NULL) {
        say(alarm->message, "%s", message);
        say(alarm->action, "%s", action);
    }
}

void overview_note_unknown(struct overview *overview, const char *why)
{
    struct alarm *alarm = add_alarm(overview, "not_told");
    if (alarm != NULL) {
        say(alarm->message, "the active master does not tell of all servers and tables: %s", why);
        say(alarm->action, "If this lasts: its log, and /status of its HTTP address, say more; "
                           "--timeout waits longer.");
    }
}

/* --- servers ---------------------------------------------------------------------------------- */

static void note_zone(struct overview *overview, const char *zone)
{
    size_t at = 0;
    while (at < overview->zone_count && strcmp(overview->zones[at], zone) < 0) {
        at++;
    }
    bool known = at < overview->zone_count && strcmp(overview->zones[at], zone) == 0;
    if (known || overview->zone_count == ZONES_MAX) {
        return;
    }
    size_t behind = overview->zone_count++ - at;
    memmove(&overview->zones[at + 1], &overview->zones[at], behind * sizeof *overview->zones);
    overview->zones[at] = zone;
}

static void note_gone(struct overview *overview, const struct edubba_server *server)
{
    struct alarm *alarm = add_alarm(overview, "server_gone");
    if (alarm != NULL) {
        say(alarm->message, "the tablet server at %s is gone; %u replicas are on it",
            server->address, server->tablet_count);
        say(alarm->action,
            "Start it again.  If it is gone for good: ebt drain %" PRIu64
            " --no-wait, so that it is not waited for.",
            server->number);
    }
}

static void note_sick(struct overview *overview, const struct edubba_server *server)
{
    bool full = strcmp(server->condition, "full") == 0;
    struct alarm *alarm = add_alarm(overview, full ? "store_full" : "store_failed");
    if (alarm != NULL) {
        say(alarm->message, "a store of the tablet server at %s %s", server->address,
            full ? "is full: it takes no writes" : "has failed: nothing that is in it is served");
        say(alarm->action,
            full
                ? "Make room on its disk or delete rows (it need not be restarted, unless the file system was "
                  "made larger), or add a server and: ebt drain %" PRIu64 "."
                : "/status of its HTTP address tells what it met.  Mend the disk, or mount a new one with an "
                  "empty folder in its place, and restart the server; or take the server away: ebt drain "
                  "%" PRIu64 ".",
            server->number);
    }
}

void overview_note_held(struct overview *overview,
                        const struct edubba_server *server,
                        uint64_t tablets,
                        const char *why)
{
    struct alarm *alarm = add_alarm(overview, "tablets_held");
    if (alarm != NULL) {
        say(alarm->message,
            "%" PRIu64
            " tablets at the tablet server at %s cannot be flushed, as a row that was written to is "
            "damaged, and its log grows until the disk is full: %.250s",
            tablets, server->address, why);
        say(alarm->action,
            "Delete the whole row that is damaged (its other cells cannot be read, either): ebt deleterow TABLE "
            "ROW, or, with its key as the server's /status has it (stores[].held), ebt --escaped deleterow TABLE "
            "'ROW'.  Then export what is whole.");
    }
}

void overview_note_lacking(struct overview *overview, const struct edubba_server *server)
{
    struct alarm *alarm = add_alarm(overview, "descriptors_lacking");
    if (alarm != NULL) {
        say(alarm->message,
            "writes to the tablet server at %s wait, as it has as many files open as it may, and its log wants "
            "another one",
            server->address);
        say(alarm->action,
            "Have it started with more (LimitNOFILE, ulimit -n), or lower its connections_max or log.keep_bytes.  "
            "Where connections end meanwhile, it goes on by itself.");
    }
}

static void note_stuck(struct overview *overview, const struct edubba_server *server)
{
    struct alarm *alarm = add_alarm(overview, "drain_stuck");
    if (alarm != NULL) {
        say(alarm->message,
            "the tablet server at %s is to be drained, and %u of its replicas cannot go: " STUCK_WHY,
            server->address, server->stuck_count);
        say(alarm->action, STUCK_ACTION, server->number);
    }
}

static void note_server(struct overview *overview, const struct edubba_server *server)
{
    bool healthy = strcmp(server->condition, "healthy") == 0;
    bool drained = server->draining && server->tablet_count == 0;
    overview->servers_alive += server->alive;
    overview->servers_draining += server->draining;
    overview->servers_usable += server->alive && healthy && !server->draining;
    if (server->stuck_count > 0) {
        note_stuck(overview, server);
    }
    if (!server->alive) {
        if (!drained && !overview->disputed) {
            note_gone(overview, server);
        }
        return;
    }
    overview->used_bytes += server->used_bytes;
    overview->free_bytes += server->free_bytes;
    if (server->zone[0] != '\0') {
        note_zone(overview, server->zone);
    }
    if (!healthy) {
        note_sick(overview, server);
    }
}

void overview_note_servers(struct overview *overview,
                           const struct edubba_server *servers,
                           size_t count)
{
    overview->servers_known = true;
    overview->servers = count;
    for (size_t i = 0; i < count; i++) {
        note_server(overview, &servers[i]);
    }
    if (overview->servers_alive == 0 && !overview->disputed) {
        struct alarm *alarm = add_alarm(overview, "no_server");
        if (alarm != NULL) {
            say(alarm->message, "no tablet server is alive");
            say(alarm->action, "Start edubba-tabletserver, with the masters' addresses.");
        }
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

bool is_brittle(const struct edubba_schema *schema)
{
    return schema->replicas > 1 && schema->min_in_sync >= schema->replicas;
}

static size_t in_sync_of(const struct edubba_tablet_replicas *tablet)
{
    size_t count = 0;
    for (size_t i = 0; i < tablet->replica_count; i++) {
        count += tablet->replicas[i].in_sync;
    }
    return count;
}

/* What one table lacks; each counts tablets. */
struct lacks {
    size_t unavailable;
    size_t not_led;    /* served by nobody, though there are copies */
    size_t unwritable; /* fewer copies are in sync than a write needs */
    size_t copies;
};

static void note_unavailable(struct overview *overview,
                             const struct edubba_schema *schema,
                             const struct lacks *lacks)
{
    struct alarm *alarm = lacks->unavailable > 0 ? add_alarm(overview, "tablets_unavailable")
                                                 : NULL;
    if (alarm != NULL) {
        say(alarm->message, "%zu tablets of %s are not served", lacks->unavailable, schema->name);
        say(alarm->action,
            "ebt tablets %s names the servers that have them: start one of each.  Right after a "
            "server was lost those that have copies come back within seconds.  If all that have "
            "them are gone for good: ebt recover.",
            schema->name);
    }
    alarm = lacks->not_led > 0 ? add_alarm(overview, "tablets_not_led") : NULL;
    if (alarm != NULL) {
        say(alarm->message,
            "%zu tablets of %s are not served: copies are there, and none of them leads",
            lacks->not_led, schema->name);
        say(alarm->action,
            "ebt recover %s tells of each which copies there are, and what can be done.",
            schema->name);
    }
    alarm = lacks->unwritable > 0 ? add_alarm(overview, "writes_wait") : NULL;
    if (alarm != NULL) {
        say(alarm->message, "%zu tablets of %s take no writes: fewer than %u copies are in sync",
            lacks->unwritable, schema->name, schema->min_in_sync);
        say(alarm->action,
            "Start the servers that are gone, or add others.  With fewer copies there is less safety: "
            "ebt setreplication %s min-in-sync=N.",
            schema->name);
    }
}

/* Of this table's number of copies; with its alarm, which is new where no other table has asked for so many.  NULL
 * without memory. */
static struct short_of_servers *find_short(struct overview *overview,
                                           const struct edubba_schema *schema)
{
    size_t i = 0;
    while (i < overview->short_count && overview->shorts[i].copies != schema->replicas) {
        i++;
    }
    if (i == overview->short_count && i < COPIES_MAX &&
        add_alarm(overview, "too_few_servers") != NULL) {
        struct short_of_servers *made = &overview->shorts[overview->short_count++];
        *made = (struct short_of_servers){.copies = schema->replicas,
                                          .alarm = overview->alarm_count - 1};
        (void)snprintf(made->table, sizeof made->table, "%s", schema->name);
    }
    return i < overview->short_count ? &overview->shorts[i] : NULL;
}

static void note_too_few(struct overview *overview,
                         const struct edubba_schema *schema,
                         const struct lacks *lacks)
{
    struct short_of_servers *of = find_short(overview, schema);
    if (of == NULL) {
        return;
    }
    struct alarm *alarm = &overview->alarms[of->alarm];
    of->tablets += lacks->copies;
    of->tables += 1;
    char others[64] = "";
    if (of->tables > 1) {
        (void)snprintf(others, sizeof others, " and %zu other table%s", of->tables - 1,
                       of->tables == 2 ? "" : "s");
    }
    say(alarm->message, "%zu tablets of %s%s lack copies, and for %u copies there are %zu servers",
        of->tablets, of->table, others, of->copies, overview->servers_usable);
    say(alarm->action, "Start or add servers, or ask for fewer: ebt setreplication %s replicas=N.",
        of->tables > 1 ? "TABLE" : of->table);
}

static void note_risks(struct overview *overview,
                       const struct edubba_schema *schema,
                       const struct lacks *lacks)
{
    if (lacks->copies > 0 && overview->servers_usable < schema->replicas) {
        note_too_few(overview, schema, lacks);
    }
    struct alarm *alarm = is_brittle(schema) ? add_alarm(overview, "writes_need_all_copies") : NULL;
    if (alarm != NULL) {
        say(alarm->message,
            "writes to %s need all of its %u copies: with one server away they wait", schema->name,
            schema->replicas);
        bool has_room = overview->servers_usable > schema->replicas;
        say(alarm->action, "ebt setreplication %s min-in-sync=%u, or%s replicas=%u.", schema->name,
            schema->replicas - 1, has_room ? "" : ", with another server,", schema->replicas + 1);
    }
}

void overview_note_table(struct overview *overview,
                         const struct edubba_schema *schema,
                         const struct edubba_tablet_replicas *tablets,
                         size_t count)
{
    struct lacks lacks = {0};
    for (size_t i = 0; i < count; i++) {
        size_t in_sync = in_sync_of(&tablets[i]);
        bool has_copy = !tablets[i].is_known || in_sync > 0; /* on a server that lives */
        bool not_led = has_copy && strcmp(tablets[i].state, "not_led") == 0;
        bool served = has_copy && (strcmp(tablets[i].state, "serving") == 0 ||
                                   strcmp(tablets[i].state, "splitting") == 0);
        lacks.unavailable += !served && !not_led;
        lacks.not_led += not_led;
        lacks.unwritable += served && tablets[i].is_known && in_sync < schema->min_in_sync;
        lacks.copies += tablets[i].is_known && in_sync < schema->replicas;
    }
    overview->tables += 1;
    overview->tablets += count;
    overview->served += count - lacks.unavailable - lacks.not_led;
    overview->lacking += lacks.copies;
    note_unavailable(overview, schema, &lacks);
    note_risks(overview, schema, &lacks);
}

void overview_deinit(struct overview *overview)
{
    free(overview->alarms);
    *overview = (struct overview){0};
}

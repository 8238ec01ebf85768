/*
 * What `ebt status` tells: how the cluster is, in numbers, and what needs a person.
 *
 *   masters, servers, tables ---> overview_note_*() ---> tallies, alarms
 *
 * An alarm is what does not go away by itself: it says what is wrong, and what to do.  What the cluster
 * mends alone (copies that are being made on servers that are there) is a number, and no alarm.
 *
 * Of each master, server and table there are a few alarms at most, however many tablets it has; what one server
 * that is gone does to all tables is one.
 */
#ifndef CLIENT_CLI_OVERVIEW_H
#define CLIENT_CLI_OVERVIEW_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "edubba_masters.h"
#include "edubba_replicas.h"

/* Why a server cannot be drained, and what to do: of a server by its number (PRIu64). */
#define STUCK_WHY                                                                                 \
    "there is no other tablet server that is alive, healthy, not drained, with replicate = true " \
    "and without a copy of their tablet"
#define STUCK_ACTION                                                                                  \
    "Start one, or ask for fewer replicas: ebt setreplication TABLE replicas=N.  The order is taken " \
    "back by: ebt drain %" PRIu64 " --undo."

#define ALARM_CODE_BYTES 40
#define ALARM_TEXT_BYTES 600
#define ZONES_MAX        16 /* told; if there are more, some are not */
#define COPIES_MAX       16 /* numbers of copies that tables ask for: 1 to 6 as things are */
#define TABLE_BYTES_MAX  300

struct alarm {
    char code[ALARM_CODE_BYTES]; /* "server_gone" */
    char message[ALARM_TEXT_BYTES];
    char action[ALARM_TEXT_BYTES];
};

/* Tables that ask for so many copies, and for which there are not servers enough: where one server of three is
 * gone these are all tables, so together they are one alarm. */
struct short_of_servers {
    uint32_t copies;
    size_t tablets;
    size_t tables;
    char table[TABLE_BYTES_MAX]; /* the first of them */
    size_t alarm;                /* its place */
};

struct overview {
    uint64_t cluster; /* 0 = not known */
    size_t masters;
    const struct edubba_master *active; /* borrowed; NULL = none */

    bool disputed;      /* the master refuses tablet servers that know another catalog */
    bool servers_known; /* a master told */
    size_t servers;
    size_t servers_alive;
    size_t servers_draining;
    size_t servers_usable; /* alive, healthy, and not draining: copies may be made there */
    size_t
        servers_silent; /* alive, as the master says, but they do not answer here: of them nothing more is known */
    uint64_t used_bytes;
    uint64_t free_bytes;
    const char *zones[ZONES_MAX]; /* borrowed, each once, ascending */
    size_t zone_count;

    bool tables_known; /* all that follows is of all tables */
    size_t tables;
    size_t tablets;
    size_t served;
    size_t lacking; /* copies that count are fewer than the table wants */

    struct short_of_servers shorts[COPIES_MAX];
    size_t short_count;

    struct alarm *alarms;
    size_t alarm_count;
    bool no_memory; /* an alarm is missing */
};

/* In this order; what is noted must outlive the overview.  overview_deinit() in the end. */
void overview_note_masters(struct overview *overview,
                           const struct edubba_master *masters,
                           size_t count);
void overview_note_dispute(struct overview *overview, const char *why);
/* What the active master itself says that it cannot do. */
void overview_note_told(struct overview *overview,
                        const char *code,
                        const char *message,
                        const char *action);
/* Of a server: so many of its tablets cannot be flushed, as rows are damaged; why, as it says. */
void overview_note_held(struct overview *overview,
                        const struct edubba_server *server,
                        uint64_t tablets,
                        const char *why);
/* Of a server: its writes wait, as it may open no more files. */
void overview_note_lacking(struct overview *overview, const struct edubba_server *server);
void overview_note_servers(struct overview *overview,
                           const struct edubba_server *servers,
                           size_t count);
void overview_note_table(struct overview *overview,
                         const struct edubba_schema *schema,
                         const struct edubba_tablet_replicas *tablets,
                         size_t count);
/* Servers or tables were asked for, and not told. */
void overview_note_unknown(struct overview *overview, const char *why);
void overview_deinit(struct overview *overview);

/* Would a table of so many copies stop taking writes with the first that is away? */
bool is_brittle(const struct edubba_schema *schema);

#endif /* CLIENT_CLI_OVERVIEW_H */

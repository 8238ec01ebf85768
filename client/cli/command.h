/*
 * Commands of ebt: one table, from which help, man page and shell completion are made too.
 */
#ifndef CLIENT_CLI_COMMAND_H
#define CLIENT_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "edubba.h"

/* Exit codes. */
#define EXIT_CODE_OK     0
#define EXIT_CODE_FAILED 1 /* the servers said no, or did not answer; or a file here */
#define EXIT_CODE_USAGE  2 /* the command line makes no sense */

/* What a command runs in. */
struct session {
    const char *masters; /* NULL = default */
    unsigned timeout_ms;
    bool timeout_given; /* then it is waited for a master that does not listen, too */
    bool only_looks;    /* session_only_looks() was called */
    bool json;
    bool escaped;     /* keys are written as ebt prints them in quotes */
    bool json_errors; /* --json stands somewhere, though perhaps behind what is wrong */
    FILE *out;
    const struct command *command;
    int argument_count; /* after the command's name */
    char **arguments;
    struct edubba_client *client; /* opened by session_client() */
};

struct command {
    const char *name;
    const char *arguments; /* "TABLE ROW FAMILY:COLUMN=VALUE[@TIMESTAMP]..." */
    const char *summary;   /* one line */
    const char *details;   /* what the words mean, with an example; "" for none */
    int argument_count_min;
    int argument_count_max; /* -1 = any */
    int (*run)(struct session *session);
};

extern const struct command COMMANDS[];
extern const size_t COMMAND_COUNT;

/* NULL when there is none. */
const struct command *command_find(const char *name);

/* The command that was probably meant; NULL when none is near. */
const char *command_nearest(const char *name);

/* Before the client is opened, by commands that change nothing: who looks because something is wrong is to
 * have an answer within seconds.  --timeout, where it is given, counts more. */
void session_only_looks(struct session *session);

/* The client, opened on first use; NULL after saying why not. */
struct edubba_client *session_client(struct session *session);

/* The table; NULL after saying why not. */
struct edubba_table *session_table(struct session *session, const char *name);

/* A row's key, or the bound of some, as it stands on the command line, which is cut in place.  The exit code,
 * or -1 to go on. */
int session_key(const struct session *session, char *word, struct edubba_bytes *ret_key);

/* The same of ROW, behind TABLE. */
int session_row(const struct session *session, struct edubba_bytes *ret_row);

/*
 * What went wrong, on stderr (complaint.c); gives the exit code for it.  With --json one object:
 * {"code":"NOT_FOUND","message":"...","hint":"..."}; hint is left out where there is none, code is
 * one of edubba.h's, "USAGE" (the command line makes no sense) or "FILE" (a file here).
 */
int session_fail(const struct session *session, const struct edubba_error *error);
int session_file_failed(const struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int session_misuse(const struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* It was done, and there is something to know about it; with --json {"warning":"..."}. */
void session_warn(const struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A command writes to FILE itself: -o is for what others print.  The exit code, or -1 to go on. */
int session_refuse_output(const struct session *session);

/* Words "key=value" from the first on stand once each.  The exit code, or -1 to go on. */
int session_refuse_repeated(const struct session *session, int first);

int session_unknown_command(const struct session *session, const char *name);

/* Say "ok" in the form asked for: nothing as text, {"ok":true} as JSON. */
int session_done(const struct session *session);

int run_help(struct session *session);
int run_version(struct session *session);

/* tables.c */
int run_createtable(struct session *session);
int run_deletetable(struct session *session);
int run_ls(struct session *session);
int run_createfamily(struct session *session);
int run_deletefamily(struct session *session);
int run_setgcpolicy(struct session *session);
int run_protect(struct session *session);
int run_pin(struct session *session);
/* write.c */
int run_set(struct session *session);
int run_addtocell(struct session *session);
int run_deleterow(struct session *session);
int run_deletecolumn(struct session *session);
int run_deleteallrows(struct session *session);
int run_checkandmutate(struct session *session);
int run_readmodifywrite(struct session *session);
/* read.c */
int run_lookup(struct session *session);
int run_read(struct session *session);
int run_count(struct session *session);
/* cluster.c */
int run_samplerowkeys(struct session *session);
int run_split(struct session *session);
int run_servers(struct session *session);
int run_masters(struct session *session);
int run_catalog(struct session *session);
/* status.c */
int run_status(struct session *session);
/* replicas.c */
int run_tablets(struct session *session);
int run_setreplication(struct session *session);
/* Take "replicas=N" or "min-in-sync=N".  -1: it is neither; else EXIT_CODE_OK, or what it comes to. */
int word_replication(const struct session *session,
                     const char *word,
                     uint32_t *ret_replicas,
                     uint32_t *ret_min_in_sync);
/* Say so where the table takes no writes as soon as one of its copies is away. */
void warn_of_brittleness(const struct session *session, const char *table);
/* drain.c */
int run_merge(struct session *session);
int run_drain(struct session *session);
/* recover.c */
int run_recover(struct session *session);
/* hot_tablets.c */
int run_hottablets(struct session *session);
/* hot_keys.c */
int run_hotkeys(struct session *session);
int run_advise(struct session *session);
/* events.c */
int run_events(struct session *session);
/* documents.c */
int run_documents(struct session *session);
int run_document(struct session *session);
/* bundle.c */
int run_debug(struct session *session);
/* export.c, importer.c */
int run_export(struct session *session);
int run_import(struct session *session);

#endif /* CLIENT_CLI_COMMAND_H */

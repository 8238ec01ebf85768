/*
 * What every daemon of ours does the same way: its command line, its configuration, the lock on
 * its folder, telling that it is ready, and how it says why it ends.
 *
 *   NAME [--config FILE] [--set key=value]... [--ready-fd N] [--check-config] [--help] [--version]
 *
 * Exit codes: 0 stopped cleanly, 1 failed while running, 2 bad command line or configuration.
 * Errors are one line on stderr: "NAME: what, where, and what to do"; of a configuration with
 * several faults a line each.
 */
#ifndef COMMON_IO_DAEMON_H
#define COMMON_IO_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/io/config.h"

#define DAEMON_EXIT_OK     0
#define DAEMON_EXIT_FAILED 1
#define DAEMON_EXIT_USAGE  2

/* Which build it is, as labels of a metric: EDUBBA_COMMIT is in <edubba_commit.h> (cmake/modules.cmake). */
#define DAEMON_BUILD(commit) "version=\"" EDUBBA_VERSION "\",commit=\"" commit "\""

/* Who the daemon is.  All texts are literals. */
struct daemon_description {
    const char *name;    /* "edubba-master" */
    const char *summary; /* one line for --help */
    const char *build;   /* DAEMON_BUILD(), told among the metrics; NULL = it is not told */
    const struct config_key *keys;
    size_t key_count;
    /* What one key cannot tell about another; run after loading, and by --check-config, even where
     * faults were found: refused values are not in their targets.  Adds its own by config_refuse().
     * May fill in defaults that follow from other keys; --help runs it, on the defaults, to show
     * them.  May be NULL. */
    void (*check)(void *context, struct config_reading *reading);
    void *context;
};

struct daemon {
    const struct daemon_description *description;
    const char *config_path; /* NULL = none given: the defaults hold */
    int ready_fd;            /* -1 = none */
};

/*
 * Read the command line and the configuration into the targets of description's keys (texts in
 * arena).  True: go on; the process may have as many files open as its hard limit says, up to
 * 65 536, and tells among its metrics which build it is.  False: end with *ret_exit_code; what had
 * to be said has been said.
 */
bool daemon_start(const struct daemon_description *description,
                  int argument_count,
                  char **arguments,
                  struct arena *arena,
                  struct daemon *ret_daemon,
                  int *ret_exit_code);

/*
 * Say that requests are served now: one line "READY text\n" on --ready-fd, which is then closed,
 * and "READY=1" to systemd's NOTIFY_SOCKET where there is one.  Text tells scripts what was bound:
 * "address=tcp://127.0.0.1:7400 http=127.0.0.1:7480".
 */
void daemon_ready(struct daemon *daemon, const char *text);

/*
 * The process is to end, and does so within this time, with DAEMON_EXIT_FAILED where something still waits then: for a
 * disk that hangs, most likely, which nothing can be told.  It is logged (not_stopped).  For daemons whose files are good
 * whenever they end.
 */
void daemon_end_within(int64_t patience_us);

/* Print "NAME: text" on stderr; returns DAEMON_EXIT_FAILED, or DAEMON_EXIT_USAGE for
 * STATUS_INVALID_ARGUMENT. */
int daemon_fail(const struct daemon *daemon, const struct error *error);

/* Say in the log where the process may not have so many files open as it may come to want. */
void daemon_check_files(uint64_t wanted);

/*
 * Create folder (and its parents) if it is not there, and lock <folder>/LOCK for this process.
 * *ret_lock is for daemon_unlock_folder(); a crash unlocks too.
 * Errors: STATUS_FAILED_PRECONDITION (another process has it: names it by pid), STATUS_IO,
 * STATUS_INVALID_ARGUMENT (no name, or too long a one); those of file_make_folders(), which name the
 * folder that cannot be made.
 */
enum status daemon_lock_folder(const char *folder, int *ret_lock, struct error *ret_error);
void daemon_unlock_folder(int lock);

#endif /* COMMON_IO_DAEMON_H */

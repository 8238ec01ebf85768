#include "common/io/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/io/file.h"
#include "common/io/logger.h"
#include "common/io/metrics.h"
#include "common/io/unreadable.h"

#define PATH_SIZE_MAX 4096
#define US_PER_SECOND 1000000
#define FILES_MAX     65536 /* as the units say, too (LimitNOFILE) */

/* What the command line said, before any of it is done. */
struct command_line {
    struct daemon daemon;
    bool check_only;
    int done_exit_code; /* >= 0: nothing more to do (--help, a bad option) */
};

/* Defaults that follow from others are there once all have been checked. */
static void settle_defaults(const struct daemon_description *description, struct arena *arena)
{
    struct config_reading nothing;
    config_reading_begin(&nothing, description->keys, description->key_count, arena);
    if (description->check != NULL) {
        description->check(description->context, &nothing);
    }
}

static void print_help(const struct daemon_description *description, struct arena *arena)
{
    settle_defaults(description, arena);
    (void)printf("%s - %s\n\n"
                 "  --config FILE      configuration file; without it the defaults hold\n"
                 "  --set KEY=VALUE    override one key of it; may be repeated\n"
                 "  --check-config     read the configuration, say whether it is good, and end\n"
                 "  --ready-fd N       write one line \"READY ...\" to descriptor N when serving\n"
                 "  --help, --version\n\n"
                 "keys and their defaults:\n",
                 description->name, description->summary);
    for (size_t i = 0; i < description->key_count; i++) {
        char value[CONFIG_VALUE_SIZE_MAX];
        config_format_value(&description->keys[i], value);
        (void)printf("  %s = %s\n", description->keys[i].name, value);
    }
}

static int usage_error(const struct daemon_description *description,
                       const char *what,
                       const char *option)
{
    (void)fprintf(stderr, "%s: %s '%s'; try --help\n", description->name, what, option);
    return DAEMON_EXIT_USAGE;
}

/* A descriptor's number that is open; else -1. */
static int parse_descriptor(const char *text)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    bool good = errno == 0 && end != text && *end == '\0' && number > 2 && number <= 1 << 20 &&
                fcntl((int)number, F_GETFD) != -1;
    return good ? (int)number : -1;
}

/* One option that takes a value; false when its value is bad.  --set is left for later. */
static bool take_value(struct command_line *line, const char *option, const char *value)
{
    if (strcmp(option, "--config") == 0) {
        line->daemon.config_path = value;
    } else if (strcmp(option, "--ready-fd") == 0) {
        line->daemon.ready_fd = parse_descriptor(value);
        return line->daemon.ready_fd != -1;
    }
    return true;
}

static bool option_takes_value(const char *option)
{
    return strcmp(option, "--config") == 0 || strcmp(option, "--set") == 0 ||
           strcmp(option, "--ready-fd") == 0;
}

static struct command_line parse_command_line(const struct daemon_description *description,
                                              int argument_count,
                                              char **arguments,
                                              struct arena *arena)
{
    struct command_line line = {
        .daemon = {.description = description, .ready_fd = -1},
        .done_exit_code = -1,
    };

    for (int i = 1; i < argument_count && line.done_exit_code < 0; i++) {
        const char *option = arguments[i];
        if (option_takes_value(option)) {
            if (i + 1 == argument_count) {
                line.done_exit_code = usage_error(description, "a value must follow", option);
            } else if (!take_value(&line, option, arguments[++i])) {
                line.done_exit_code = usage_error(description,
                                                  "not an open descriptor above 2:", arguments[i]);
            }
        } else if (strcmp(option, "--check-config") == 0) {
            line.check_only = true;
        } else if (strcmp(option, "--help") == 0) {
            print_help(description, arena);
            line.done_exit_code = DAEMON_EXIT_OK;
        } else if (strcmp(option, "--version") == 0) {
            (void)printf("%s %s\n", description->name, EDUBBA_VERSION);
            line.done_exit_code = DAEMON_EXIT_OK;
        } else {
            line.done_exit_code = usage_error(description, "unknown option", option);
        }
    }
    return line;
}

/* The file, then every --set in order, then the check across keys: all that is wrong is told. */
static bool load_configuration(const struct daemon *daemon,
                               int argument_count,
                               char **arguments,
                               struct arena *arena)
{
    const struct daemon_description *description = daemon->description;
    struct config_reading reading;

    config_reading_begin(&reading, description->keys, description->key_count, arena);
    if (daemon->config_path != NULL) {
        (void)config_load(&reading, daemon->config_path);
    }
    for (int i = 1; i < argument_count; i++) {
        if (!option_takes_value(arguments[i])) {
            continue;
        }
        i++;
        if (strcmp(arguments[i - 1], "--set") == 0) {
            (void)config_set(&reading, arguments[i]);
        }
    }
    if (description->check != NULL) {
        description->check(description->context, &reading);
    }
    for (size_t i = 0; i < reading.fault_count && i < CONFIG_FAULTS_MAX; i++) {
        (void)fprintf(stderr, "%s: %s\n", description->name, reading.faults[i]);
    }
    if (reading.fault_count > CONFIG_FAULTS_MAX) {
        (void)fprintf(stderr, "%s: and %zu more\n", description->name,
                      reading.fault_count - CONFIG_FAULTS_MAX);
    }
    return reading.fault_count == 0;
}

static void write_all(int descriptor, const char *text, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t written = write(descriptor, text, size_bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return; /* nobody listens any more: not our trouble */
        }
        text += written;
        size_bytes -= (size_t)written;
    }
}

/* systemd's protocol: one datagram to the socket it named; '@' stands for the abstract namespace. */
static void notify_systemd(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof address.sun_path) {
        return;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor == -1) {
        return;
    }
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    (void)sendto(descriptor, "READY=1", 7, MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    (void)close(descriptor);
}

/* Who holds the lock, as it wrote itself down. */
static enum status locked_by_another(int descriptor, const char *path, struct error *ret_error)
{
    char owner[32] = {0};
    ssize_t size = pread(descriptor, owner, sizeof owner - 1, 0);
    owner[size > 0 ? size : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "%s is locked by process %s: is it running already?", path,
                     owner[0] == '\0' ? "(unknown)" : owner);
}

/* Sessions give a process 1 024 open files, which may be raised; connections_max alone is that many. */
static void raise_files_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_MAX) {
        limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* else as it was */
    }
}

void daemon_check_files(uint64_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        LOG_EVENT(
            LOG_LEVEL_WARN, "descriptors_may_lack", LOG_U64("limit", limit.rlim_cur),
            LOG_U64("wanted", wanted),
            LOG_TEXT("need", "a larger LimitNOFILE (ulimit -n), or a smaller connections_max"));
    }
}

bool daemon_start(const struct daemon_description *description,
                  int argument_count,
                  char **arguments,
                  struct arena *arena,
                  struct daemon *ret_daemon,
                  int *ret_exit_code)
{
    struct command_line line = parse_command_line(description, argument_count, arguments, arena);

    if (line.done_exit_code >= 0) {
        *ret_exit_code = line.done_exit_code;
        return false;
    }
    if (!load_configuration(&line.daemon, argument_count, arguments, arena)) {
        *ret_exit_code = DAEMON_EXIT_USAGE;
        return false;
    }
    if (line.check_only) {
        (void)printf("%s: the configuration is good\n", description->name);
        *ret_exit_code = DAEMON_EXIT_OK;
        return false;
    }
    unreadable_tell();
    raise_files_max();
    if (description->build != NULL) {
        metric_set(
            metric_gauge("edubba_build_info", description->build,
                         "Always 1: which version this is, and of which commit it was built."),
            1);
    }
    *ret_daemon = line.daemon;
    return true;
}

void daemon_ready(struct daemon *daemon, const char *text)
{
    char line[ERROR_TEXT_SIZE_MAX];

    if (daemon->ready_fd != -1) {
        int size = snprintf(line, sizeof line, "READY %s\n", text);
        ASSERT(size > 0);
        ASSERT((size_t)size < sizeof line);
        write_all(daemon->ready_fd, line, (size_t)size);
        (void)close(daemon->ready_fd);
        daemon->ready_fd = -1;
    }
    notify_systemd();
}

static void *end_when_it_is_time(void *context)
{
    int64_t patience_us = (int64_t)(intptr_t)context;
    clock_sleep_us(patience_us);
    LOG_EVENT(LOG_LEVEL_ERROR, "not_stopped", LOG_I64("after_s", patience_us / US_PER_SECOND),
              LOG_TEXT("why", "a thread still waits, for a disk most likely; the process ends "
                              "without it"));
    _Exit(DAEMON_EXIT_FAILED);
}

void daemon_end_within(int64_t patience_us)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_when_it_is_time, (void *)(intptr_t)patience_us) == 0) {
        (void)pthread_detach(thread);
    }
}

int daemon_fail(const struct daemon *daemon, const struct error *error)
{
    const char *text = error->text[0] != '\0' ? error->text : status_text(error->status);
    (void)fprintf(stderr, "%s: %s\n", daemon->description->name, text);
    return error->status == STATUS_INVALID_ARGUMENT ? DAEMON_EXIT_USAGE : DAEMON_EXIT_FAILED;
}

enum status daemon_lock_folder(const char *folder, int *ret_lock, struct error *ret_error)
{
    char path[PATH_SIZE_MAX];
    int size = snprintf(path, sizeof path, "%s", folder);

    if (size <= 0 || (size_t)size + sizeof "/LOCK" > sizeof path) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "bad folder name '%s'", folder);
    }
    enum status status = file_make_folders(path, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    memcpy(path + size, "/LOCK", sizeof "/LOCK");
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor == -1) {
        return error_set(ret_error, STATUS_IO, "cannot open %s: %s", path, strerror(errno));
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) == -1) {
        status = locked_by_another(descriptor, path, ret_error);
        (void)close(descriptor);
        return status;
    }
    /* For people only: the lock is flock's, and goes with the process. */
    char owner[32];
    int owner_size = snprintf(owner, sizeof owner, "%ld\n", (long)getpid());
    if (ftruncate(descriptor, 0) == 0) {
        (void)!pwrite(descriptor, owner, (size_t)owner_size, 0);
    }
    *ret_lock = descriptor;
    return STATUS_OK;
}

void daemon_unlock_folder(int lock)
{
    (void)close(lock);
}

/*
 * How daemons stop: their own main(), in a process of its own, whose closing may be made to hang.
 *
 * That process is this program, begun anew: Criterion has started nng here, which does not outlive a
 * fork.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/signals.h"
#include "master/shell/master.h"
#include "tabletserver/serve/server.h"
#include "tests/support/test_folder.h"

/* main() of the daemons; tests/CMakeLists.txt names them so, and lets closing come by here. */
int master_main(int argument_count, char **arguments);
int tabletserver_main(int argument_count, char **arguments);
void __wrap_master_close(struct master *master);
void __real_master_close(struct master *master);
void __wrap_server_close(struct server *server);
void __real_server_close(struct server *server);

/* --- in the daemon's process ------------------------------------------------------------------ */

/* Tells that closing has begun, and hangs for longer than anybody waits, where that was asked for. */
static void close_or_hang(void)
{
    const char *words = getenv("STOP_HANGS");
    if (words == NULL) {
        return;
    }
    if (write(atoi(words), "closing\n", 8) == 8) {
        (void)sleep(30);
    }
    _exit(9);
}

void __wrap_master_close(struct master *master)
{
    close_or_hang();
    __real_master_close(master);
}

void __wrap_server_close(struct server *server)
{
    close_or_hang();
    __real_server_close(server);
}

/* Before Criterion's main(). */
__attribute__((constructor)) static void become_the_daemon(int argument_count, char **arguments)
{
    const char *name = getenv("STOP_DAEMON");
    if (name != NULL) {
        _exit(strcmp(name, "master") == 0 ? master_main(argument_count, arguments)
                                          : tabletserver_main(argument_count, arguments));
    }
}

/* --- in the test's ---------------------------------------------------------------------------- */

struct daemon {
    pid_t process;
    int words; /* what it says, a line each */
};

static char folder[256];

static void start(void)
{
    test_folder_make(folder, sizeof folder, "stop");
}

static void stop(void)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(stop, .init = start, .fini = stop, .timeout = 600);

static void run(const char *name, int words, bool hangs)
{
    char daemon[40];
    char hanging[40];
    char descriptor[16];
    char setting[300];
    (void)snprintf(daemon, sizeof daemon, "STOP_DAEMON=%s", name);
    (void)snprintf(hanging, sizeof hanging, "STOP_HANGS=%d", dup(words)); /* words will be closed */
    (void)snprintf(descriptor, sizeof descriptor, "%d", words);
    (void)snprintf(setting, sizeof setting, "folder=%s", folder);
    char *environment[] = {daemon, hangs ? hanging : NULL, NULL};
    char *master[] = {"edubba-master",
                      "--ready-fd",
                      descriptor,
                      "--set",
                      setting,
                      "--set",
                      "address=tcp://127.0.0.1:0",
                      "--set",
                      "http.address=127.0.0.1:0",
                      NULL};
    char *tabletserver[] = {"edubba-tabletserver",
                            "--ready-fd",
                            descriptor,
                            "--set",
                            setting,
                            "--set",
                            "address=tcp://127.0.0.1:0",
                            "--set",
                            "http.address=",
                            "--set",
                            "masters=tcp://127.0.0.1:1",
                            "--set",
                            "ballast=0",
                            "--set",
                            "log_segment=1 MiB",
                            "--set",
                            "map_size=64 MiB",
                            NULL};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && freopen("/dev/null", "w", stderr) != NULL) {
        (void)execve("/proc/self/exe", strcmp(name, "master") == 0 ? master : tabletserver,
                     environment);
    }
    _exit(9);
}

static void hear(const struct daemon *daemon, const char *word)
{
    char line[200] = "";
    size_t used = 0;
    while (used + 1 < sizeof line && read(daemon->words, line + used, 1) == 1 &&
           line[used] != '\n') {
        used++;
    }
    cr_assert(strncmp(line, word, strlen(word)) == 0, "'%s' instead of '%s'", line, word);
}

static struct daemon start_daemon(const char *name, bool hangs)
{
    int words[2];
    cr_assert_eq(pipe(words), 0);
    pid_t process = fork();
    if (process == 0) {
        (void)close(words[0]);
        run(name, words[1], hangs);
    }
    cr_assert_gt(process, 0);
    (void)close(words[1]);
    struct daemon daemon = {process, words[0]};
    hear(&daemon, "READY");
    return daemon;
}

static int end_of(const struct daemon *daemon)
{
    int status = 0;
    cr_assert_eq(waitpid(daemon->process, &status, 0), daemon->process);
    cr_assert(WIFEXITED(status), "%d", status);
    (void)close(daemon->words);
    return WEXITSTATUS(status);
}

static int end_by_one_signal(const char *name)
{
    struct daemon daemon = start_daemon(name, false);
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    return end_of(&daemon);
}

static int end_by_a_second_one(const char *name)
{
    struct daemon daemon = start_daemon(name, true);
    cr_assert_eq(kill(daemon.process, SIGINT), 0);
    hear(&daemon, "closing");
    usleep(SIGNALS_SECOND_AFTER_NS / 1000 + 100000); /* before that it is the first one once more */
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    return end_of(&daemon);
}

Test(stop, one_signal_stops_a_master_in_order)
{
    cr_assert_eq(end_by_one_signal("master"), 0);
}

Test(stop, one_signal_stops_a_tablet_server_in_order)
{
    cr_assert_eq(end_by_one_signal("tabletserver"), 0);
}

Test(stop, a_second_one_ends_a_master_whose_closing_hangs)
{
    cr_assert_eq(end_by_a_second_one("master"), 128 + SIGTERM);
}

Test(stop, a_second_one_ends_a_tablet_server_whose_closing_hangs)
{
    cr_assert_eq(end_by_a_second_one("tabletserver"), 128 + SIGTERM);
}

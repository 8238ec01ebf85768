#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/io/daemon.h"
#include "tests/support/test_folder.h"
#include "tests/support/told_metrics.h"

static int64_t number = 5;
static uint64_t room; /* 0 = as many MiB as the number */
static const struct config_key keys[] = {
    {"number", CONFIG_NUMBER, &number, 1, 9, false},
    {"room", CONFIG_SIZE_BYTES, &room, 1, INT64_MAX, false},
};

static void check(void *context, struct config_reading *reading)
{
    (void)context;
    room = room == 0 ? (uint64_t)number << 20 : room;
    if (number == 7) {
        config_refuse(reading, "number", "number: seven is taken");
    }
}

static const struct daemon_description description = {
    .name = "test-daemon",
    .summary = "does nothing",
    .build = DAEMON_BUILD("0123abcd-dirty"),
    .keys = keys,
    .key_count = 2,
    .check = check,
};

/* -1 = it goes on. */
static int start(char **arguments, struct daemon *ret_daemon)
{
    struct arena arena;
    int exit_code = -1;
    int count = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    arena_init(&arena, 4096, SIZE_MAX);
    bool goes_on = daemon_start(&description, count, arguments, &arena, ret_daemon, &exit_code);
    cr_assert_eq(goes_on, exit_code == -1);
    arena_deinit(&arena);
    return exit_code;
}

#define START(...) \
    start((char *[]){"test-daemon", __VA_ARGS__ __VA_OPT__(, ) NULL}, &(struct daemon){0})

/* Whatever main() waits for then. */
Test(daemon, ends_within_its_time, .exit_code = DAEMON_EXIT_FAILED, .timeout = 60)
{
    daemon_end_within(50000);
    for (;;) {
        (void)pause();
    }
}

Test(daemon, command_line)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
    cr_assert_eq(START(), -1);
    cr_assert_eq(START("--set", "number=6"), -1);
    cr_assert_eq(number, 6);
    cr_assert_eq(START("--set", "number=6", "--set", "number=8"), -1);
    cr_assert_eq(number, 8, "the later one holds");
    cr_assert_eq(START("--help"), DAEMON_EXIT_OK);
    cr_assert_eq(START("--version"), DAEMON_EXIT_OK);
    cr_assert_eq(START("--check-config"), DAEMON_EXIT_OK);
    cr_assert_eq(START("--set"), DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--set", "number=10"), DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--set", "numbr=1"), DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--set", "number=7"), DAEMON_EXIT_USAGE, "the check across keys");
    cr_assert_eq(START("--nonsense"), DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--ready-fd", "nine"), DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--ready-fd", "987"), DAEMON_EXIT_USAGE, "not open");
    cr_assert_eq(START("--config", "/nonexistent/file"), DAEMON_EXIT_USAGE);
}

Test(daemon, what_goes_on_tells_which_build_it_is)
{
    cr_redirect_stdout();
    cr_assert_eq(START("--check-config"), DAEMON_EXIT_OK);
    struct buffer text = told_metrics();
    cr_assert_null(strstr((const char *)text.data, "edubba_build_info"));
    buffer_deinit(&text);

    cr_assert_eq(START(), -1);
    text = told_metrics();
    cr_assert_not_null(strstr((const char *)text.data,
                              "\nedubba_build_info{version=\"" EDUBBA_VERSION
                              "\",commit=\"0123abcd-dirty\"} 1\n"),
                       "%s", (const char *)text.data);
    buffer_deinit(&text);
}

Test(daemon, help_shows_the_defaults_also_those_that_follow_from_others)
{
    cr_redirect_stdout();
    cr_assert_eq(START("--set", "number=6", "--help"), DAEMON_EXIT_OK);
    (void)fflush(stdout);
    cr_assert_stdout_eq_str(
        "test-daemon - does nothing\n\n"
        "  --config FILE      configuration file; without it the defaults hold\n"
        "  --set KEY=VALUE    override one key of it; may be repeated\n"
        "  --check-config     read the configuration, say whether it is good, and end\n"
        "  --ready-fd N       write one line \"READY ...\" to descriptor N when serving\n"
        "  --help, --version\n\n"
        "keys and their defaults:\n"
        "  number = 5\n"
        "  room = \"5 MiB\"\n");
}

Test(daemon, all_that_is_wrong_is_told_and_too_much_of_it_counted)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
    cr_assert_eq(START("--set", "number=7", "--set", "numbr=1", "--set", "number=10"),
                 DAEMON_EXIT_USAGE);
    cr_assert_eq(START("--set", "a=1", "--set", "b=1", "--set", "c=1", "--set", "d=1", "--set",
                       "e=1", "--set", "f=1", "--set", "g=1", "--set", "h=1", "--set", "i=1",
                       "--set", "j=1", "--set", "k=1", "--set", "l=1", "--set", "m=1", "--set",
                       "n=1", "--set", "o=1", "--set", "p=1", "--set", "q=1", "--set", "number=6"),
                 DAEMON_EXIT_USAGE);
    (void)fflush(stderr);
    cr_assert_stderr_eq_str("test-daemon: unknown key 'numbr'; is 'number' meant?\n"
                            "test-daemon: command line: number is 10, allowed are 1 to 9\n"
                            "test-daemon: command line: number: seven is taken\n"
                            "test-daemon: unknown key 'a'\ntest-daemon: unknown key 'b'\n"
                            "test-daemon: unknown key 'c'\ntest-daemon: unknown key 'd'\n"
                            "test-daemon: unknown key 'e'\ntest-daemon: unknown key 'f'\n"
                            "test-daemon: unknown key 'g'\ntest-daemon: unknown key 'h'\n"
                            "test-daemon: unknown key 'i'\ntest-daemon: unknown key 'j'\n"
                            "test-daemon: unknown key 'k'\ntest-daemon: unknown key 'l'\n"
                            "test-daemon: unknown key 'm'\ntest-daemon: unknown key 'n'\n"
                            "test-daemon: unknown key 'o'\ntest-daemon: unknown key 'p'\n"
                            "test-daemon: and 1 more\n");
}

Test(daemon, ready_is_one_line_and_the_descriptor_is_closed)
{
    int ends[2];
    char text[16];
    char line[64] = {0};
    struct daemon daemon;
    cr_assert_eq(pipe(ends), 0);
    snprintf(text, sizeof text, "%d", ends[1]);
    cr_assert_eq(start((char *[]){"test-daemon", "--ready-fd", text, NULL}, &daemon), -1);
    daemon_ready(&daemon, "address=tcp://127.0.0.1:1");
    cr_assert_gt(read(ends[0], line, sizeof line - 1), 0);
    cr_assert_str_eq(line, "READY address=tcp://127.0.0.1:1\n");
    cr_assert_eq(read(ends[0], line, sizeof line), 0, "its end is closed");
    close(ends[0]);
}

Test(daemon, a_folder_is_made_and_locked_once)
{
    char folder[256];
    char deep[300];
    char command[300];
    int lock = -1;
    int second = -1;
    struct error error = {0};
    test_folder_make(folder, sizeof folder, "daemon");
    snprintf(deep, sizeof deep, "%s/a/b/c", folder);
    cr_assert_eq(daemon_lock_folder(deep, &lock, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(daemon_lock_folder(deep, &second, &error), STATUS_FAILED_PRECONDITION);
    snprintf(command, sizeof command, "process %ld", (long)getpid());
    cr_assert_not_null(strstr(error.text, command), "%s", error.text);
    daemon_unlock_folder(lock);
    cr_assert_eq(daemon_lock_folder(deep, &lock, &error), STATUS_OK);
    daemon_unlock_folder(lock);
    cr_assert_eq(daemon_lock_folder("/proc/nonsense/x", &lock, &error), STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "/proc/nonsense"), "%s", error.text);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

/* As a session gives it to whoever is started by hand. */
Test(daemon, it_may_open_more_files_than_a_session_says)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 256;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(START(), -1);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(limit.rlim_cur, limit.rlim_max < 65536 ? limit.rlim_max : 65536);
}

/* What is logged of it; "" = nothing. */
static const char *said_of_files(uint64_t wanted)
{
    static char text[512];
    int console = dup(STDERR_FILENO);
    FILE *said = tmpfile();
    cr_assert_not_null(said);
    (void)dup2(fileno(said), STDERR_FILENO);
    daemon_check_files(wanted);
    (void)dup2(console, STDERR_FILENO);
    close(console);
    rewind(said);
    size_t size = fread(text, 1, sizeof text - 1, said);
    text[size] = '\0';
    fclose(said);
    return text;
}

Test(daemon, that_it_may_not_have_as_many_files_as_it_may_want_is_said)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 200;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_str_eq(said_of_files(200), "");
    const char *said = said_of_files(201);
    cr_assert_not_null(strstr(said, "descriptors_may_lack limit=200 wanted=201"), "%s", said);
    cr_assert_not_null(strstr(said, "LimitNOFILE"), "%s", said);
}

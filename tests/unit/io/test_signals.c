/* Each daemon here is a process that is told what to do by a pipe, and tells what it hears by another. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/signals.h"

#define EXIT_CLOSED  7
#define ATTEMPTS_MAX 20

struct daemon {
    pid_t process;
    int orders; /* 'c': begin to close; 'e': all is closed, end */
    int words;  /* 'r': it runs; 's': on_stop; 'c': it closes */
};

static int words;

static void say(char word)
{
    if (write(words, &word, 1) != 1) {
        _exit(9);
    }
}

static char hear(int descriptor)
{
    char word = '\0';
    return read(descriptor, &word, 1) == 1 ? word : '\0';
}

static void on_stop(void *context, int signal)
{
    (void)signal;
    say(context == &words ? 's' : '?');
}

static void run(int orders)
{
    struct error error;
    signals_block();
    if (signals_start(on_stop, &words, &error) != STATUS_OK) {
        _exit(8);
    }
    say('r');
    while (hear(orders) == 'c') {
        signals_closing();
        say('c');
    }
    signals_stop();
    _exit(EXIT_CLOSED);
}

static struct daemon start(void)
{
    int orders[2];
    int heard[2];
    cr_assert_eq(pipe(orders), 0);
    cr_assert_eq(pipe(heard), 0);
    pid_t process = fork();
    if (process == 0) {
        close(orders[1]);
        close(heard[0]);
        words = heard[1];
        run(orders[0]);
    }
    cr_assert_gt(process, 0);
    close(orders[0]);
    close(heard[1]);
    struct daemon daemon = {.process = process, .orders = orders[1], .words = heard[0]};
    cr_assert_eq(hear(daemon.words), 'r');
    return daemon;
}

/* What comes sooner is the first one once more. */
static void be_patient(void)
{
    usleep(SIGNALS_SECOND_AFTER_NS / 1000 + 100000);
}

static void order(const struct daemon *daemon, char what)
{
    cr_assert_eq(write(daemon->orders, &what, 1), 1);
}

/* Its exit code; it must not have said anything more. */
static int end_of(const struct daemon *daemon)
{
    int status = 0;
    cr_assert_eq(waitpid(daemon->process, &status, 0), daemon->process);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(hear(daemon->words), '\0');
    close(daemon->orders);
    close(daemon->words);
    return WEXITSTATUS(status);
}

TestSuite(signals, .timeout = 600);

Test(signals, one_is_told_and_all_is_closed_in_order)
{
    struct daemon daemon = start();
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    cr_assert_eq(hear(daemon.words), 's');
    order(&daemon, 'c');
    cr_assert_eq(hear(daemon.words), 'c');
    order(&daemon, 'e');
    cr_assert_eq(end_of(&daemon), EXIT_CLOSED);
}

Test(signals, a_second_one_ends_the_process_at_once)
{
    struct daemon daemon = start();
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    cr_assert_eq(hear(daemon.words), 's');
    be_patient();
    cr_assert_eq(kill(daemon.process, SIGINT), 0);
    cr_assert_eq(end_of(&daemon), 128 + SIGINT);
}

Test(signals, a_second_one_ends_it_while_it_closes_too)
{
    struct daemon daemon = start();
    cr_assert_eq(kill(daemon.process, SIGINT), 0);
    cr_assert_eq(hear(daemon.words), 's');
    order(&daemon, 'c');
    cr_assert_eq(hear(daemon.words), 'c');
    be_patient();
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    cr_assert_eq(end_of(&daemon), 128 + SIGTERM);
}

/* Its exit code, and whether all of it was within a second. */
static int end_by_the_same_twice(bool *ret_within_a_second)
{
    struct daemon daemon = start();
    int64_t begun_ns = clock_monotonic_ns();
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    cr_assert_eq(hear(daemon.words), 's');
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    order(&daemon, 'e');
    int code = end_of(&daemon);
    *ret_within_a_second = clock_monotonic_ns() - begun_ns < SIGNALS_SECOND_AFTER_NS;
    return code;
}

/* As timeout(1) does.  Where the machine lets a second pass it is another one: then it is tried again. */
Test(signals, the_same_once_more_within_a_second_is_one)
{
    bool within_a_second = false;
    int code = end_by_the_same_twice(&within_a_second);
    for (int attempt = 1; !within_a_second; attempt++) {
        cr_assert_lt(attempt, ATTEMPTS_MAX, "it takes a second each time");
        code = end_by_the_same_twice(&within_a_second);
    }
    cr_assert_eq(code, EXIT_CLOSED);
}

Test(signals, what_closes_by_itself_is_not_told_to)
{
    struct daemon daemon = start();
    order(&daemon, 'c');
    cr_assert_eq(hear(daemon.words), 'c');
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    order(&daemon, 'e');
    cr_assert_eq(end_of(&daemon), EXIT_CLOSED);
}

Test(signals, what_closes_by_itself_ends_at_the_second_one)
{
    struct daemon daemon = start();
    order(&daemon, 'c');
    cr_assert_eq(hear(daemon.words), 'c');
    cr_assert_eq(kill(daemon.process, SIGTERM), 0);
    be_patient();
    cr_assert_eq(kill(daemon.process, SIGINT), 0);
    cr_assert_eq(end_of(&daemon), 128 + SIGINT);
}

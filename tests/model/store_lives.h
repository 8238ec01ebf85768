/*
 * Lives of one store, in a process each: all but the last are ended by kill -9 at a random moment,
 * and the next finds what was there.  Include after fixture.
 */
#ifndef TESTS_MODEL_STORE_LIVES_H
#define TESTS_MODEL_STORE_LIVES_H

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/prng.h"
#include "tests/support/store_fixture.h"

struct store_lives {
    struct fixture *fixture;
    void (*live)(uint64_t seed, int life, uint32_t steps); /* opens the fixture's store */
    uint64_t kill_after_us;                                /* at the earliest */
    uint64_t kill_within_us;                               /* after that */
};

/* Threads of this process that run or could.  STATE is the field behind the name in parentheses. */
static int store_lives_threads_awake(void)
{
    int awake = 0;
    DIR *folder = opendir("/proc/self/task");
    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[sizeof "/proc/self/task//stat" + sizeof entry->d_name];
        char line[256] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            const char *state = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
            awake += state != NULL && strncmp(state, ") S", 3) != 0;
            (void)fclose(file);
        }
    }
    (void)closedir(folder);
    return awake;
}

/* The test's runner has threads of its own, which begin beside the test.  AddressSanitizer's allocator
 * stays locked in the child for ever where one of them held it; so they sleep before one forks. */
static pid_t store_lives_fork(void)
{
    for (int waited_ms = 0; store_lives_threads_awake() > 1; waited_ms++) {
        cr_assert_lt(waited_ms, 20000, "threads beside the test's do not come to rest");
        usleep(1000);
    }
    return fork();
}

static void store_lives_run(const struct store_lives *lives,
                            uint64_t seed,
                            int count,
                            uint32_t steps)
{
    struct prng killer = prng_of_seed(seed);
    for (int life = 0; life < count; life++) {
        pid_t child = store_lives_fork();
        if (child == 0) {
            lives->live(seed, life, steps);
            fixture_close(lives->fixture);
            _exit(0);
        }
        bool kill_it = life + 1 < count;
        if (kill_it) {
            usleep((useconds_t)(lives->kill_after_us + prng_below(&killer, lives->kill_within_us)));
            (void)kill(child, SIGKILL);
        }
        int result = 0;
        cr_assert_eq(waitpid(child, &result, 0), child);
        cr_assert((kill_it && WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL) ||
                      (WIFEXITED(result) && WEXITSTATUS(result) == 0),
                  "seed %d, life %d: %x; folder %s", (int)seed, life, result,
                  lives->fixture->folder);
    }
}

/* Worlds that a test of lives runs through: seeds one after the other, each of so many lives of so many steps. */
struct store_worlds {
    uint64_t first;
    uint64_t last;
    int lives;
    uint32_t steps;
};

/* All of them, or as many lives and steps as `alone` says of the one that EDUBBA_SEED in the environment names. */
static void store_worlds_run(void (*run)(uint64_t seed, int lives, uint32_t steps),
                             struct store_worlds worlds,
                             struct store_worlds alone)
{
    const char *text = getenv("EDUBBA_SEED");
    if (text != NULL) {
        run(strtoull(text, NULL, 10), alone.lives, alone.steps);
        return;
    }
    for (uint64_t seed = worlds.first; seed <= worlds.last; seed++) {
        run(seed, worlds.lives, worlds.steps);
    }
}

#endif /* TESTS_MODEL_STORE_LIVES_H */

/*
 * Lives of one store, in a process each: all but the last are ended by kill -9 at a random moment,
 * and the next finds what was there.  Include after fixture.
 */
#ifndef TESTS_MODEL_STORE_LIVES_H
#define TESTS_MODEL_STORE_LIVES_H

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

static void store_lives_run(const struct store_lives *lives,
                            uint64_t seed,
                            int count,
                            uint32_t steps)
{
    struct prng killer = prng_of_seed(seed);
    for (int life = 0; life < count; life++) {
        pid_t child = fork();
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

#endif /* TESTS_MODEL_STORE_LIVES_H */

#include "client/load/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define FILES_OF_OUR_OWN 32 /* output, and what the libraries' threads wake each other with */

/* How many files this process may have open, the soft limit raised to the hard one. */
static uint64_t most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return UINT64_MAX;
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return before;
    }
    return limit.rlim_cur;
}

enum edubba_code load_files_check(uint64_t clients,
                                  uint64_t connections,
                                  struct edubba_error *error)
{
    uint64_t needed = connections + FILES_OF_OUR_OWN;
    uint64_t allowed = most();
    if (needed <= allowed) {
        return EDUBBA_OK;
    }
    error->code = EDUBBA_RESOURCE_EXHAUSTED;
    (void)snprintf(error->text, sizeof error->text,
                   "%" PRIu64 " clients need about %" PRIu64
                   " open files, and this process may have %" PRIu64 ": raise ulimit -n (its hard "
                   "limit), or say fewer --clients or --connections",
                   clients, needed, allowed);
    return error->code;
}

#include "common/io/build_info.h"

#include <edubba_commit.h> /* made by cmake/commit.cmake: here only, as it changes with every commit */

#include "common/io/metrics.h"

void build_info_tell(void)
{
    metric_set(metric_gauge("edubba_build_info",
                            "version=\"" EDUBBA_VERSION "\",commit=\"" EDUBBA_COMMIT "\"",
                            "Always 1: which version this is, and of which commit it was built."),
               1);
}

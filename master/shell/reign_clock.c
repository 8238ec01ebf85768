#include "master/shell/reign_clock.h"

#include "master/core/catalog.h"

void reign_clock_start(struct reign_clock *clock, int64_t clock_ns)
{
    *clock = (struct reign_clock){clock_ns, clock_ns};
}

int64_t reign_clock_look(struct reign_clock *clock, int64_t clock_ns, bool hears)
{
    int64_t passed_ns = clock_ns - clock->clock_ns;

    if (passed_ns > 0) {
        clock->clock_ns = clock_ns;
        clock->now_ns += !hears                                  ? 0
                         : passed_ns < REIGN_CLOCK_STRIDE_NS_MAX ? passed_ns
                                                                 : REIGN_CLOCK_STRIDE_NS_MAX;
    }
    return clock->now_ns;
}

int64_t reign_clock_of(const struct reign_clock *clock, int64_t moment_ns)
{
    return clock->now_ns + (moment_ns - clock->clock_ns);
}

int64_t reign_clock_when(const struct reign_clock *clock, int64_t catalog_ns)
{
    return catalog_ns == CATALOG_NEVER ? CATALOG_NEVER
                                       : clock->clock_ns + (catalog_ns - clock->now_ns);
}

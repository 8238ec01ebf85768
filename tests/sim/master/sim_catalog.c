#include "tests/sim/master/sim_catalog.h"

#include "common/base/assert.h"
#include "master/coordinator/coordinator.h"

struct walk {
    sim_catalog_visit visit;
    void *context;
};

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    const struct walk *walk = context;
    struct tablet_record record;
    uint64_t number = 0;
    char kind = 0;
    enum status status = record_key_decode(key, &kind, &number, ret_error);
    if (status != STATUS_OK || kind != RECORD_KIND_TABLET) {
        return status;
    }
    status = tablet_record_decode(number, value, &record, ret_error);
    if (status == STATUS_OK) {
        walk->visit(walk->context, &record);
    }
    return status;
}

void sim_catalog_tablets(const struct sim *sim, sim_catalog_visit visit, void *context)
{
    struct walk walk = {visit, context};
    struct error error = {.status = STATUS_OK};
    ASSERT(coordinator_load(sim->coordinator, take, &walk, &error) == STATUS_OK);
}

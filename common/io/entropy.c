#include "common/io/entropy.h"

#include <unistd.h>

#include "common/base/assert.h"

uint64_t entropy_u64(void)
{
    uint64_t value = 0;
    while (value == 0) {
        ASSERT(getentropy(&value, sizeof value) == 0);
    }
    return value;
}

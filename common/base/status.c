#include "common/base/status.h"

const char *status_text(enum status status)
{
    switch (status) {
#define STATUS_CASE(name, number, text) \
    case STATUS_##name:                 \
        return text;
        STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *status_name(enum status status)
{
    switch (status) {
#define STATUS_CASE(name, number, text) \
    case STATUS_##name:                 \
        return #name;
        STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "UNKNOWN_STATUS";
}

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/loop/client.h"
#include "common/base/memory.h"

#define NS_PER_MS INT64_C(1000000)

#define CODE_NAME(name, number, text) \
    case (number):                    \
        return #name;

const char *edubba_code_name(enum edubba_code code)
{
    switch ((int)code) {
        STATUS_LIST(CODE_NAME)
    default:
        return "UNKNOWN";
    }
}

enum edubba_code client_code(enum status status)
{
    switch (status) {
    case STATUS_NOT_OWNER:
    case STATUS_IO:
    case STATUS_CLOSED:
        return EDUBBA_UNAVAILABLE;
    case STATUS_NO_SPACE:
    case STATUS_NO_MEMORY:
    case STATUS_LIMIT:
        return EDUBBA_RESOURCE_EXHAUSTED;
    case STATUS_CORRUPT:
        return EDUBBA_DATA_LOSS;
    case STATUS_MALFORMED:
        return EDUBBA_INTERNAL;
    case STATUS_VERSION:
        return EDUBBA_FAILED_PRECONDITION;
    case STATUS_OK:
    case STATUS_CANCELLED:
    case STATUS_UNKNOWN:
    case STATUS_INVALID_ARGUMENT:
    case STATUS_DEADLINE_EXCEEDED:
    case STATUS_NOT_FOUND:
    case STATUS_ALREADY_EXISTS:
    case STATUS_PERMISSION_DENIED:
    case STATUS_RESOURCE_EXHAUSTED:
    case STATUS_FAILED_PRECONDITION:
    case STATUS_ABORTED:
    case STATUS_OUT_OF_RANGE:
    case STATUS_UNIMPLEMENTED:
    case STATUS_INTERNAL:
    case STATUS_UNAVAILABLE:
    case STATUS_DATA_LOSS:
    case STATUS_UNAUTHENTICATED:
        return (enum edubba_code)status;
    }
    return EDUBBA_UNKNOWN;
}

#define STATUS_CASE(name, value, text) case (value):

enum status client_status_of_number(uint32_t number)
{
    switch (number) {
        STATUS_LIST(STATUS_CASE)
        return (enum status)number;
    default:
        return STATUS_UNKNOWN;
    }
}

enum edubba_code client_error(struct edubba_error *error,
                              enum status status,
                              const char *format,
                              ...)
{
    enum edubba_code code = client_code(status);
    if (error != NULL) {
        va_list arguments;
        error->code = code;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

enum edubba_code client_error_of(struct edubba_error *error, const struct error *from)
{
    return client_error(error, from->status, "%s", from->text);
}

enum edubba_code client_success(struct edubba_error *error)
{
    if (error != NULL) { /* for each row of a scan: nothing is formatted */
        error->code = EDUBBA_OK;
        error->text[0] = '\0';
    }
    return EDUBBA_OK;
}

enum edubba_code client_no_memory(struct edubba_error *error)
{
    return client_error(error, STATUS_NO_MEMORY, "out of memory");
}

enum status client_status_no_memory(struct error *ret_error)
{
    return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
}

void client_append_waited_for(const struct edubba_client *client,
                              uint32_t address,
                              const char *trouble,
                              struct error *error)
{
    bool known = address < client->locations.address_count; /* it may have gone: addresses.h */
    size_t used = strlen(error->text);
    (void)snprintf(error->text + used, sizeof error->text - used, "%s%s%s%s",
                   known ? " waiting for " : "",
                   known ? location_cache_address(&client->locations, address) : "",
                   trouble[0] != '\0' ? "; the last attempt: " : "", trouble);
}

void client_tell_trouble(const struct edubba_client *client, int64_t begun_ns, const char *trouble)
{
    if (client->on_trouble != NULL && trouble != NULL) {
        client->on_trouble(client->trouble_context,
                           (uint32_t)((client->loop.now_ns - begun_ns) / NS_PER_MS), trouble);
    }
}

enum edubba_code client_check_may_block(struct edubba_client *client, struct edubba_error *error)
{
    if (loop_is_held_here(&client->loop)) {
        return client_error(error, STATUS_FAILED_PRECONDITION,
                            "a completion must not call a blocking function");
    }
    return EDUBBA_OK;
}

void edubba_free(void *pointer)
{
    memory_free(pointer);
}

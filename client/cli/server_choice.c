#include "client/cli/server_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Those that are meant by an address. */
struct choice {
    size_t alive;
    size_t gone;
    uint64_t number; /* of the last that is alive; where none is, of the last */
    char numbers[300];
};

static bool has_number(const struct edubba_server *server, const char *name)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%" PRIu64, server->number);
    return strcmp(name, number) == 0;
}

static bool has_address(const struct edubba_server *server, const char *name)
{
    const char *behind = strstr(server->address, "://");
    return strcmp(name, server->address) == 0 || (behind != NULL && strcmp(name, behind + 3) == 0);
}

/* Of more than fit the rest is not told. */
static void add(struct choice *choice, const struct edubba_server *server)
{
    size_t used = strlen(choice->numbers);
    (void)snprintf(choice->numbers + used, sizeof choice->numbers - used, "%s%" PRIu64 " (%s)",
                   used > 0 ? ", " : "", server->number, server->alive ? "alive" : "gone");
    if (server->alive || choice->alive == 0) {
        choice->number = server->number;
    }
    choice->alive += server->alive;
    choice->gone += !server->alive;
}

bool server_choose(const struct edubba_server *servers,
                   size_t count,
                   const char *name,
                   uint64_t *ret_number,
                   struct edubba_error *ret_error)
{
    struct choice choice = {0};
    for (size_t i = 0; i < count; i++) {
        if (has_number(&servers[i], name)) {
            *ret_number = servers[i].number;
            return true;
        }
        if (has_address(&servers[i], name)) {
            add(&choice, &servers[i]);
        }
    }
    if (choice.alive == 1 || choice.alive + choice.gone == 1) {
        *ret_number = choice.number;
        return true;
    }
    if (choice.alive + choice.gone == 0) {
        ret_error->code = EDUBBA_NOT_FOUND;
        (void)snprintf(ret_error->text, sizeof ret_error->text,
                       "no tablet server has the number or address '%.100s'", name);
    } else {
        ret_error->code = EDUBBA_FAILED_PRECONDITION;
        (void)snprintf(
            ret_error->text, sizeof ret_error->text,
            "several tablet servers have the address '%.100s': say which by its number: %s", name,
            choice.numbers);
    }
    return false;
}

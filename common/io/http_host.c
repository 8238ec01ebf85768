#include "common/io/http_host.h"

#include <string.h>

/* Length of a name of this machine that host begins with; 0 = there is none.  "127.0.0.1.evil.example" is a
 * name that anybody may own, and "127." of digits and dots alone is an address. */
static size_t local_name_bytes(const char *host)
{
    static const char *const names[] = {"localhost", "[::1]"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(host, names[i], strlen(names[i])) == 0) {
            return strlen(names[i]);
        }
    }
    return strncmp(host, "127.", 4) == 0 ? strspn(host, "0123456789.") : 0;
}

bool http_host_is_local(const char *host)
{
    size_t name_bytes = host == NULL ? 0 : local_name_bytes(host);
    return host == NULL ||
           (name_bytes > 0 && (host[name_bytes] == '\0' || host[name_bytes] == ':'));
}

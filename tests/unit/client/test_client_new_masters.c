/* Masters come and go, each with another address; the one that stands by tells where the active one is. */
#include "tests/support/client_session.h"

enum {
    GONE = 40, /* masters that were active for a while; more than a client keeps */
    LONG_MS = 20000,
    SHORT_MS = 100
};

Test(client, however_many_masters_there_were_the_active_one_is_found)
{
    struct session session = open_session();
    struct edubba_error error;
    edubba_thread_deadline(SHORT_MS);
    for (int i = 1; i <= GONE; i++) { /* nobody listens there any more */
        static char names[GONE + 1][64];
        (void)snprintf(names[i], sizeof names[i], "tcp://127.0.0.%d:1", i);
        SET(session, master_names, names[i]);
        cr_assert_neq(list_servers(&session, &error), EDUBBA_OK);
    }
    edubba_thread_deadline(LONG_MS);
    SET(session, active, 2);
    SET(session, master_names, session.fake->servers[2].address);
    cr_assert_eq(list_servers(&session, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    close_session(&session);
}

/*
 * What ebt says on stderr while it waits, so that nobody waits in silence:
 *
 *   what a call meets that has been tried again for two seconds    once for each reason
 *   that there is no answer, where nothing says why, after three   only on a terminal
 */
#ifndef CLIENT_CLI_WAITING_H
#define CLIENT_CLI_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* From now on; timeout_ms is how long each call is tried. */
void waiting_begin(unsigned timeout_ms, bool json);

/* Something came. */
void waiting_end(void);

/* For edubba_options.on_trouble, of one client at a time; the context is not looked at. */
void waiting_on_trouble(void *context, uint32_t waited_ms, const char *text);

#endif /* CLIENT_CLI_WAITING_H */

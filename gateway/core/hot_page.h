/*
 * Pages of hot tablets, and their keys as text.
 *
 * The list is made anew for every page, as a gateway keeps nothing, and grows meanwhile: a token
 * says which window of time the first page was about, and how hot, when and which the last tablet
 * of the page before was.  The next one begins behind it in the list's order: hottest first, then
 * the earlier, then the lower number.  How hot the minute is that runs changes from page to page, so
 * a tablet of that minute may come twice; the one that a page ends with is not the next one's first.
 *
 * Pure.
 */
#ifndef GATEWAY_CORE_HOT_PAGE_H
#define GATEWAY_CORE_HOT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "client/include/edubba_hotspots.h"

#define HOT_PAGE_TOKEN_SIZE 81 /* NUL included */

struct hot_page_token {
    int64_t start_us; /* of the window */
    int64_t end_us;
    double percent; /* of the last tablet */
    int64_t last_us;
    uint64_t tablet;
};

void hot_page_token_write(const struct hot_page_token *token, char ret_text[HOT_PAGE_TOKEN_SIZE]);

/* False: it is none. */
bool hot_page_token_read(const char *text, struct hot_page_token *ret_token);

/* Does the tablet come behind the token's in the order of the list? */
bool hot_page_is_behind(const struct hot_page_token *token, const struct edubba_hot_tablet *hot);

/* The key in a field that takes UTF-8 only, NUL-terminated: bytes that are none are written \xNN.
 * text: room for 4 * key.size + 1. */
void hot_page_key_text(struct edubba_bytes key, char *ret_text);

#endif /* GATEWAY_CORE_HOT_PAGE_H */

/*
 * What tablet servers and masters say when they refuse, told in the API's terms.
 *
 * Servers know a table by its name of ours ("T", "P/I/T"); a caller is to read the name that it
 * used.  Statuses travel with texts only, so what the API says in a code, in a detail or in another
 * text is found in them here, and nowhere else.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_CORE_SERVER_TEXT_H
#define GATEWAY_CORE_SERVER_TEXT_H

#include <stdbool.h>

#include "client/include/edubba.h"
#include "common/base/bytes.h"
#include "common/base/limits.h"

#define SERVER_TEXT_SIZE_MAX 1024 /* with the NUL; longer ones are cut */

/* Our codes are the API's, but for one: what there is too little of now may be there later, and
 * clients try again only what is UNAVAILABLE. */
enum edubba_code server_text_code(enum edubba_code code);

/* NOT_FOUND is said of tables and of families: is it the table that is not there? */
bool server_text_is_of_table(enum edubba_code code, const char *text);

/* Is a mutation's family not there, or does the mutation not go with its type? */
bool server_text_is_of_family(enum edubba_code code, const char *text);

/* The same text, with the table's name as the caller has it in the place of ours. */
void server_text_rename(const char *text,
                        const char *table,
                        const char *full_name,
                        char ret_text[SERVER_TEXT_SIZE_MAX]);

/* Is it the refusal of a row that is too large to be read? */
bool server_text_is_large_row(enum edubba_code code, const char *text);

/* Which row that was.  False: its key is too long to stand in such a text. */
bool server_text_large_row(const char *text,
                           uint8_t key[LIMIT_ROW_KEY_BYTES],
                           size_t *ret_size_bytes);

#endif /* GATEWAY_CORE_SERVER_TEXT_H */

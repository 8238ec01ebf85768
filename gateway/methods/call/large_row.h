/*
 * The end of a call that met a row too large to be read.
 *
 * The status says which row in its details, as google.rpc.ErrorInfo: clients that skip large rows
 * go on behind it.  Without the exact key they must not be told at all, and get the text alone.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_CALL_LARGE_ROW_H
#define GATEWAY_METHODS_CALL_LARGE_ROW_H

#include "gateway/rpc/rpc.h"

/* text is the server's, and says that it is such a row; row is its key where the caller knows, else
 * empty.  Ends the call. */
void large_row_fail(struct rpc_call *call, const char *text, struct bytes row);

#endif /* GATEWAY_METHODS_CALL_LARGE_ROW_H */

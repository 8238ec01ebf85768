/*
 * Everything that lies in a span of etcd's keys, in order, as it was at one moment: read in pages.
 *
 * Thread rule: that of the client.
 */
#ifndef MASTER_COORDINATOR_ETCD_SCAN_H
#define MASTER_COORDINATOR_ETCD_SCAN_H

#include "master/coordinator/etcd_client.h"
#include "master/coordinator/etcd_codec.h"

/* One key; borrowed for the call.  An error ends the scan. */
typedef enum status (*etcd_take)(void *context,
                                 const struct etcd_key_value *item,
                                 struct error *ret_error);

/*
 * Errors: take's own; STATUS_UNAVAILABLE (also when what it reads was compacted away meanwhile: begin
 * anew), STATUS_CANCELLED, STATUS_PERMISSION_DENIED, STATUS_MALFORMED, STATUS_NO_MEMORY.
 */
enum status etcd_scan(struct etcd_client *client,
                      const struct etcd_span *span,
                      etcd_take take,
                      void *context,
                      struct error *ret_error);

/* The first key of span: *ret_found, and its value copied into *ret_value, the caller's to free. */
enum status etcd_read_first(struct etcd_client *client,
                            const struct etcd_span *span,
                            bool *ret_found,
                            struct buffer *ret_value,
                            struct error *ret_error);

#endif /* MASTER_COORDINATOR_ETCD_SCAN_H */

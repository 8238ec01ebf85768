/*
 * The parts that several messages share: filters, mutations, schemas, places.
 *
 * Each has a writer, and a reader that takes the next element of the array around it.  Readers
 * follow reader.h: they fail by the reader's status, and what they return is then not to be used.
 *
 * Where a struct has a kind, only the fields which that kind uses are on the wire, after the kind,
 * in the order of the struct; the others come back as zero.
 */
#ifndef COMMON_WIRE_MESSAGE_PARTS_H
#define COMMON_WIRE_MESSAGE_PARTS_H

#include "common/wire/message.h"
#include "common/wire/reader.h"

void wire_write_range(struct buffer *out, const struct row_range *range);
struct row_range wire_read_range(struct wire_reader *reader,
                                 struct wire_array *fields,
                                 const char *field);

void wire_write_location(struct buffer *out, const struct location *location);
void wire_read_location(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct location *ret_location);

/* A location where there is one, else nil. */
void wire_write_location_if(struct buffer *out, bool has, const struct location *location);
bool wire_read_location_if(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct location *ret_location);

/* NULL is written as nil.  Below MESSAGE_DEPTH_MAX levels children are written as nil, so that no
 * caller's tree can exhaust the stack; such a filter is refused for its depth in any case. */
void wire_write_filter(struct buffer *out, const struct filter *filter);
/* NULL for nil, missing, or failure.  One of over FILTER_WIRE_BYTES_MAX is not taken apart: a stand-in
 * comes back with the true size, by which filter_compile() refuses it in Bigtable's words; and
 * one deeper than LIMIT_FILTER_DEPTH comes back just so much too deep. */
const struct filter *wire_read_filter(struct wire_reader *reader,
                                      struct wire_array *fields,
                                      size_t *ret_filter_bytes);

/* More mutations or rules than LIMIT_MUTATIONS_PER_REQUEST come back as NULL with their number, by
 * which mutation_check_list() and rmw_check() refuse them. */
void wire_write_mutations(struct buffer *out, const struct mutation *mutations, size_t count);
const struct mutation *wire_read_mutations(struct wire_reader *reader,
                                           struct wire_array *fields,
                                           const char *field,
                                           size_t *ret_count);

void wire_write_rmw_rules(struct buffer *out, const struct rmw_rule *rules, size_t count);
const struct rmw_rule *wire_read_rmw_rules(struct wire_reader *reader,
                                           struct wire_array *fields,
                                           size_t *ret_count);

void wire_write_family(struct buffer *out, const struct family *family);
void wire_read_family(struct wire_reader *reader,
                      struct wire_array *fields,
                      struct family *ret_family);

void wire_write_table(struct buffer *out, const struct table *table);
void wire_read_table(struct wire_reader *reader,
                     struct wire_array *fields,
                     const char *field,
                     struct table *ret_table);

/* A version of 0 is "none", and has no members.  Anything else that is not sound is refused. */
void wire_write_configuration(struct buffer *out,
                              const struct replica_configuration *configuration);
void wire_read_configuration(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field,
                             struct replica_configuration *ret_configuration);

/* One without members is written as nil. */
void wire_write_goal(struct buffer *out, const struct goal *goal);
void wire_read_goal(struct wire_reader *reader, struct wire_array *fields, struct goal *ret_goal);

void wire_write_located_replicas(struct buffer *out, const struct located_replicas *located);
void wire_read_located_replicas(struct wire_reader *reader,
                                struct wire_array *fields,
                                struct located_replicas *ret_located);

void wire_write_server(struct buffer *out, const struct server_information *server);
void wire_read_server(struct wire_reader *reader,
                      struct wire_array *fields,
                      struct server_information *ret_server);

void wire_write_figures(struct buffer *out, const struct load_figures *figures);
struct load_figures wire_read_figures(struct wire_reader *reader, struct wire_array *fields);

/* Nothing in it?  Then it need not be written. */
bool wire_is_no_load_detail(const struct load_detail *detail);
void wire_write_load_detail(struct buffer *out, const struct load_detail *detail);
/* Of one that says more than there may be, the first are taken.  One that cannot be (rows that do not
 * ascend, or are no keys) counts for nothing and is no failure: a server must be heard all the same. */
void wire_read_load_detail(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct load_detail *ret_detail);

void wire_write_load_report(struct buffer *out, const struct load_report *report);
void wire_read_load_report(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct load_report *ret_report);

#endif /* COMMON_WIRE_MESSAGE_PARTS_H */

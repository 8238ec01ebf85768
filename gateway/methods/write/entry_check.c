#include "gateway/methods/write/entry_check.h"

#include <string.h>

#include "common/model/mutation.h"
#include "gateway/convert/convert.h"

#define OF_ELEMENT "Error in field '" API_MUTATION_LIST "' : Error in element #"
#define OF_FIRST   OF_ELEMENT "0 : " /* what the rules say of a list of one */

static struct bytes bytes_from(struct edubba_bytes bytes)
{
    return bytes_of(bytes.data, bytes.size);
}

/* Without its input, which any family takes. */
static struct mutation shape_of(const struct edubba_mutation *mutation)
{
    return (struct mutation){
        .kind = (enum mutation_kind)mutation->kind,
        .family = bytes_from(mutation->family),
        .qualifier = bytes_from(mutation->qualifier),
        .timestamp_us = mutation->timestamp_us,
        .start_us = mutation->start_us,
        .end_us = mutation->end_us,
        .input = INPUT_NULL,
        .value = bytes_from(mutation->value),
    };
}

static enum status check_mutation(const struct table *table,
                                  const struct edubba_mutation *mutation,
                                  size_t index,
                                  struct error *ret_error)
{
    struct mutation shape = shape_of(mutation);
    struct error trouble = {.status = STATUS_OK};
    enum status status = mutation_check_list(table, &shape, 1, API_MUTATION_LIST, &trouble);
    return status == STATUS_OK ? STATUS_OK
                               : error_set(ret_error, status, OF_ELEMENT "%zu : %s", index,
                                           trouble.text + strlen(OF_FIRST));
}

enum status entry_check(const struct edubba_entry *entry, bool is_micros, struct error *ret_error)
{
    const struct table table = {.granularity = is_micros ? GRANULARITY_MICROS : GRANULARITY_MILLIS};
    enum status status = row_key_check(bytes_from(entry->row), ret_error);
    for (size_t i = 0; i < entry->count && status == STATUS_OK; i++) {
        status = check_mutation(&table, &entry->mutations[i], i, ret_error);
    }
    return status;
}

#include "master/console/console_query.h"

#include "common/base/hex.h"
#include "common/base/memory.h"
#include "master/console/console_json.h"

/* Up to one of the ends, which is left; *ret_out moves on.  False: a percent sign without its digits. */
static bool decode(const char **at, const char *ends, uint8_t **ret_out)
{
    while (**at != '\0' && strchr(ends, **at) == NULL) {
        char byte = *(*at)++;
        if (byte == '%') {
            int high = hex_digit((uint8_t)(*at)[0]);
            int low = high < 0 ? -1 : hex_digit((uint8_t)(*at)[1]);
            if (low < 0) {
                return false;
            }
            byte = (char)(high * 16 + low);
            *at += 2;
        } else if (byte == '+') {
            byte = ' ';
        }
        *(*ret_out)++ = (uint8_t)byte;
    }
    return true;
}

static bool parse_items(const char *at, struct query *query)
{
    uint8_t *out = query->text;

    while (*at != '\0' && *at != '#') {
        if (query->count == QUERY_ITEMS_MAX) {
            return false;
        }
        struct query_item *item = &query->items[query->count++];
        uint8_t *name = out;
        if (!decode(&at, "=&#", &out)) {
            return false;
        }
        item->name = bytes_of(name, (size_t)(out - name));
        item->value = out;
        at += *at == '=';
        if (!decode(&at, "&#", &out)) {
            return false;
        }
        item->value_bytes = (size_t)(out - item->value);
        at += *at == '&';
    }
    return true;
}

enum status query_parse(const char *uri, struct query *ret_query, struct error *ret_error)
{
    struct query query = {.count = 0};
    size_t path_bytes = strcspn(uri, "?#");
    size_t size_bytes = strlen(uri);

    if (size_bytes > QUERY_BYTES_MAX || path_bytes >= sizeof query.path) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "the address is too long");
    }
    memcpy(query.path, uri, path_bytes);
    query.text = memory_allocate(size_bytes + 1);
    if (query.text == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory");
    }
    const char *items = uri + path_bytes + (uri[path_bytes] == '?');
    if (!parse_items(items, &query)) {
        memory_free(query.text);
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "what stands behind the question mark cannot be read");
    }
    *ret_query = query;
    return STATUS_OK;
}

void query_deinit(struct query *query)
{
    memory_free(query->text);
    query->text = NULL;
}

static const struct query_item *find(const struct query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++) {
        if (bytes_equal(query->items[i].name, bytes_of_text(name))) {
            return &query->items[i];
        }
    }
    return NULL;
}

struct bytes query_text(const struct query *query, const char *name)
{
    const struct query_item *item = find(query, name);
    return item == NULL ? BYTES_EMPTY : bytes_of(item->value, item->value_bytes);
}

enum status query_number(const struct query *query,
                         const char *name,
                         int64_t minimum,
                         int64_t maximum,
                         int64_t *ret_value,
                         struct error *ret_error)
{
    struct bytes text = query_text(query, name);
    int64_t value = 0;
    bool good = text.size_bytes > 0 && text.size_bytes <= 18;

    if (find(query, name) == NULL) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < text.size_bytes && good; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        value = value * 10 + (text.data[i] - '0');
    }
    if (!good || value < minimum || value > maximum) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%s must be a number from %lld to %lld", name, (long long)minimum,
                         (long long)maximum);
    }
    *ret_value = value;
    return STATUS_OK;
}

enum status query_key(const struct query *query,
                      const char *name,
                      struct bytes *ret_key,
                      struct error *ret_error)
{
    const struct query_item *item = find(query, name);

    *ret_key = BYTES_EMPTY;
    if (item == NULL) {
        return STATUS_OK;
    }
    if (!json_key_read(item->value, item->value_bytes, ret_key)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%s must be a row key: \\xNN for a byte, two backslashes for one", name);
    }
    if (ret_key->size_bytes > LIMIT_ROW_KEY_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%s is %zu bytes, a row key at most %d", name, ret_key->size_bytes,
                         LIMIT_ROW_KEY_BYTES);
    }
    return STATUS_OK;
}

enum status query_check(const struct query *query,
                        const char *const *names,
                        struct error *ret_error)
{
    for (size_t i = 0; i < query->count; i++) {
        const char *const *name = names;
        while (*name != NULL && !bytes_equal(query->items[i].name, bytes_of_text(*name))) {
            name++;
        }
        if (*name == NULL) {
            char text[BYTES_PRINTABLE_SIZE_MAX];
            return error_set(ret_error, STATUS_INVALID_ARGUMENT, "'%s' is not asked for here",
                             bytes_printable(query->items[i].name, text));
        }
    }
    return STATUS_OK;
}

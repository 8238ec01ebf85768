#include "gateway/methods/call/large_row.h"

#include <string.h>

#include "common/base/base64.h"
#include "gateway/core/server_text.h"
#include "rpc.pb-c.h"

#define REASON       "LargeRowReadError"
#define DOMAIN       "bigtable.googleapis.com"
#define KEY_FIELD    "rowKeyBase64Encoded"
#define TYPE         "type.googleapis.com/google.rpc.ErrorInfo"
#define TEXT_BYTES   SERVER_TEXT_SIZE_MAX
#define KEY_LONG     3000 /* in base64: beside it the details have no room for the text */
#define KEY_BYTES    BASE64_TEXT_SIZE(LIMIT_ROW_KEY_BYTES)
#define INFO_BYTES   (KEY_BYTES + 256)               /* an ErrorInfo, packed */
#define STATUS_BYTES (INFO_BYTES + TEXT_BYTES + 256) /* a Status that holds it, packed */

static char *writable(const char *text)
{
    union {
        const char *in;
        char *out; /* packing only reads it */
    } pointer = {.in = text};
    return pointer.out;
}

static struct bytes pack_info(char *key, uint8_t out[INFO_BYTES])
{
    Google__Rpc__ErrorInfo__MetadataEntry field;
    Google__Rpc__ErrorInfo__MetadataEntry *fields[] = {&field};
    Google__Rpc__ErrorInfo info;
    google__rpc__error_info__metadata_entry__init(&field);
    google__rpc__error_info__init(&info);
    field.key = writable(KEY_FIELD);
    field.value = key;
    info.reason = writable(REASON);
    info.domain = writable(DOMAIN);
    info.metadata = fields;
    info.n_metadata = 1;
    return bytes_of(out, google__rpc__error_info__pack(&info, out));
}

static struct bytes pack_status(const char *text, char *key, uint8_t out[STATUS_BYTES])
{
    uint8_t packed[INFO_BYTES];
    struct bytes info = pack_info(key, packed);
    Google__Protobuf__Any detail;
    Google__Protobuf__Any *details[] = {&detail};
    Google__Rpc__Status status;
    google__protobuf__any__init(&detail);
    google__rpc__status__init(&status);
    detail.type_url = writable(TYPE);
    detail.value = (ProtobufCBinaryData){info.size_bytes, packed};
    status.code = EDUBBA_FAILED_PRECONDITION;
    status.message = writable(strlen(key) < KEY_LONG ? text : "");
    status.details = details;
    status.n_details = 1;
    return bytes_of(out, google__rpc__status__pack(&status, out));
}

/* False: the text does not hold all of it. */
static bool find_key(const char *text, struct bytes row, char ret_text[KEY_BYTES])
{
    uint8_t key[LIMIT_ROW_KEY_BYTES];
    size_t size = 0;
    if (row.size_bytes > 0) {
        base64_encode(row, ret_text);
        return true;
    }
    if (!server_text_large_row(text, key, &size)) {
        return false;
    }
    base64_encode(bytes_of(key, size), ret_text);
    return true;
}

void large_row_fail(struct rpc_call *call, const char *text, struct bytes row)
{
    char key[KEY_BYTES];
    uint8_t packed[STATUS_BYTES];
    struct rpc_status status = {EDUBBA_FAILED_PRECONDITION, text, BYTES_EMPTY};
    if (find_key(text, row, key)) {
        status.details = pack_status(text, key, packed);
    }
    rpc_finish(call, &status);
}

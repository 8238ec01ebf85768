/*
 * Every message's decoder and encoder by one shape: what is decoded is encoded again.
 */
#ifndef TESTS_SUPPORT_MESSAGE_CODECS_H
#define TESTS_SUPPORT_MESSAGE_CODECS_H

#include "common/wire/message.h"

/* Decodes in, and appends what came of it to out.  Errors: the decoder's; out is as it was. */
typedef enum status (*message_recoder)(struct bytes in, struct arena *arena, struct buffer *out);

#define MESSAGE_RECODE(name)                                                      \
    static inline enum status recode_##name(struct bytes in, struct arena *arena, \
                                            struct buffer *out)                   \
    {                                                                             \
        struct name message;                                                      \
        struct error error;                                                       \
        enum status status = name##_decode(in, arena, &message, &error);          \
        if (status == STATUS_OK) {                                                \
            name##_encode(&message, out);                                         \
        }                                                                         \
        return status;                                                            \
    }

/* One that needs no arena. */
#define MESSAGE_RECODE_FLAT(name)                                                 \
    static inline enum status recode_##name(struct bytes in, struct arena *arena, \
                                            struct buffer *out)                   \
    {                                                                             \
        struct name message;                                                      \
        struct error error;                                                       \
        (void)arena;                                                              \
        enum status status = name##_decode(in, &message, &error);                 \
        if (status == STATUS_OK) {                                                \
            name##_encode(&message, out);                                         \
        }                                                                         \
        return status;                                                            \
    }

MESSAGE_LIST(MESSAGE_RECODE)
MESSAGE_RECODE(operations_request)
MESSAGE_RECODE(operations_response)
MESSAGE_RECODE(scan_request)
MESSAGE_RECODE(table)
MESSAGE_RECODE_FLAT(scan_response)
MESSAGE_RECODE_FLAT(hello)
MESSAGE_RECODE_FLAT(hello_ack)

#endif /* TESTS_SUPPORT_MESSAGE_CODECS_H */

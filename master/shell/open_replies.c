#include "master/shell/open_replies.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

void open_replies_init(struct open_replies *replies)
{
    number_map_init(&replies->by_number);
    list_init(&replies->all);
    replies->number_last = 0;
}

void open_replies_deinit(struct open_replies *replies)
{
    ASSERT(list_is_empty(&replies->all));
    number_map_deinit(&replies->by_number);
}

static struct open_reply *add(struct open_replies *replies, const struct open_reply *added)
{
    struct open_reply *open = memory_allocate_zeroed(1, sizeof *open);

    if (open == NULL || number_map_reserve(&replies->by_number, 1) != STATUS_OK) {
        memory_free(open);
        return NULL;
    }
    *open = *added;
    open->number = ++replies->number_last;
    list_append(&replies->all, &open->link, open);
    (void)number_map_put(&replies->by_number, open->number, open);
    return open;
}

struct open_reply *open_replies_add(struct open_replies *replies,
                                    const struct transport_request *request,
                                    struct transport_reply *reply)
{
    const struct open_reply open = {
        .reply = reply,
        .method = request->method,
        .trace = request->head.trace,
        .received_ns = request->received_ns,
    };
    return add(replies, &open);
}

struct open_reply *open_replies_add_question(struct open_replies *replies,
                                             struct question *question,
                                             int64_t received_ns)
{
    const struct open_reply open = {
        .question = question,
        .method = question->method,
        .received_ns = received_ns,
    };
    return add(replies, &open);
}

struct open_reply *open_replies_take(struct open_replies *replies, uint64_t number)
{
    struct open_reply *open = number_map_remove(&replies->by_number, number);
    ASSERT(open != NULL);
    list_remove(&open->link);
    return open;
}

struct open_reply *open_replies_take_any(struct open_replies *replies)
{
    struct open_reply *open = list_first(&replies->all);
    return open == NULL ? NULL : open_replies_take(replies, open->number);
}

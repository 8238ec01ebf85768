#include "tabletserver/serve/sync/served_list.h"

#include "common/base/memory.h"

#define ROOM_BESIDES 16 /* for those that come while there is made room */

struct gathering {
    struct served_list list;
    size_t capacity;
    size_t seen;
};

static void gather(void *context, const struct served *served)
{
    struct gathering *gathering = context;
    struct served_list *list = &gathering->list;
    gathering->seen += 1;
    if (list->count < gathering->capacity) {
        served_ref(served);
        list->items[list->count++] = *served;
    }
}

/* A part of them is none: whoever reports it says that the others are not here. */
enum status served_list_make(struct served_map *map, struct served_list *ret_list)
{
    struct gathering gathering = {.capacity = served_map_count(map) + ROOM_BESIDES};
    do {
        served_list_release(&gathering.list);
        gathering.list.items = memory_allocate(gathering.capacity * sizeof(struct served));
        if (gathering.list.items == NULL) {
            return STATUS_NO_MEMORY;
        }
        gathering.seen = 0;
        served_map_visit(map, gather, &gathering);
        gathering.capacity = gathering.seen + ROOM_BESIDES;
    } while (gathering.list.count < gathering.seen);
    *ret_list = gathering.list;
    return STATUS_OK;
}

void served_list_release(struct served_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        served_release(&list->items[i]);
    }
    memory_free(list->items);
    *list = (struct served_list){.items = NULL};
}

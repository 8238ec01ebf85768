#include "client/load/lab/core/frequent.h"

#include <string.h>

static void take(struct lab_frequent_place *place, uint64_t id, const void *text, size_t text_size)
{
    place->id = id;
    place->text_size = text_size < sizeof place->text ? text_size : sizeof place->text;
    if (place->text_size > 0) {
        memcpy(place->text, text, place->text_size);
    }
}

void lab_frequent_add(struct lab_frequent *frequent,
                      uint64_t id,
                      const void *text,
                      size_t text_size)
{
    struct lab_frequent_place *rarest = &frequent->places[0];
    frequent->total++;
    for (size_t i = 0; i < frequent->place_count; i++) {
        struct lab_frequent_place *place = &frequent->places[i];
        if (place->id == id) {
            place->count++;
            return;
        }
        rarest = place->count < rarest->count ? place : rarest;
    }
    if (frequent->place_count < LAB_FREQUENT_PLACES) {
        rarest = &frequent->places[frequent->place_count++];
        *rarest = (struct lab_frequent_place){0};
    }
    take(rarest, id, text, text_size);
    rarest->error = rarest->count;
    rarest->count++;
}

const struct lab_frequent_place *lab_frequent_top(const struct lab_frequent *frequent)
{
    const struct lab_frequent_place *top = NULL;
    for (size_t i = 0; i < frequent->place_count; i++) {
        const struct lab_frequent_place *place = &frequent->places[i];
        if (top == NULL || place->count - place->error > top->count - top->error) {
            top = place;
        }
    }
    return top;
}

double lab_frequent_share(const struct lab_frequent *frequent,
                          const struct lab_frequent_place *place)
{
    return frequent->total > 0 ? (double)(place->count - place->error) / (double)frequent->total
                               : 0;
}

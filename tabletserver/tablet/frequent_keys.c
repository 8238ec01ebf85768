#include "tabletserver/tablet/frequent_keys.h"

#include "common/base/checksum.h"

/* What is left of a key that nobody touches any more is let go. */
#define FORGOTTEN 0.01

void frequent_keys_init(struct frequent_keys *frequent)
{
    *frequent = (struct frequent_keys){.count = 0};
}

void frequent_keys_deinit(struct frequent_keys *frequent)
{
    for (uint32_t i = 0; i < FREQUENT_KEYS_COUNTERS; i++) {
        buffer_deinit(&frequent->keys[i].row);
    }
    frequent->count = 0;
}

void frequent_keys_forget(struct frequent_keys *frequent)
{
    frequent->count = 0;
}

static double weight_of(const struct frequent_key *key)
{
    return key->reads + key->writes;
}

void frequent_keys_decay(struct frequent_keys *frequent, double factor)
{
    for (uint32_t i = 0; i < frequent->count; i++) {
        struct frequent_key *key = &frequent->keys[i];
        key->reads *= factor;
        key->writes *= factor;
        key->error *= factor;
        if (weight_of(key) < FORGOTTEN) {
            struct frequent_key gone = *key;
            *key = frequent->keys[--frequent->count];
            frequent->keys[frequent->count] = gone; /* its memory is still of use */
            i -= 1;
        }
    }
}

static struct frequent_key *find(struct frequent_keys *frequent, struct bytes row, uint64_t hash)
{
    for (uint32_t i = 0; i < frequent->count; i++) {
        struct frequent_key *key = &frequent->keys[i];
        if (key->hash == hash && bytes_equal(buffer_bytes(&key->row), row)) {
            return key;
        }
    }
    return NULL;
}

static struct frequent_key *least(struct frequent_keys *frequent)
{
    struct frequent_key *found = &frequent->keys[0];
    for (uint32_t i = 1; i < frequent->count; i++) {
        if (weight_of(&frequent->keys[i]) < weight_of(found)) {
            found = &frequent->keys[i];
        }
    }
    return found;
}

void frequent_keys_add(struct frequent_keys *frequent,
                       struct bytes row,
                       double reads,
                       double writes)
{
    uint64_t hash = checksum64(row.data, row.size_bytes, 0);
    struct frequent_key *key = find(frequent, row, hash);
    if (key == NULL) {
        bool free = frequent->count < FREQUENT_KEYS_COUNTERS;
        key = free ? &frequent->keys[frequent->count] : least(frequent);
        double inherited = free ? 0 : weight_of(key);
        double share = reads / (reads + writes);
        buffer_reset(&key->row);
        buffer_append_bytes(&key->row, row);
        /* Without memory the counter stands for no key, and is the next to be given away. */
        key->hash = key->row.failed ? 0 : hash;
        key->reads = key->row.failed ? 0 : inherited * share;
        key->writes = key->row.failed ? 0 : inherited * (1 - share);
        key->error = key->row.failed ? 0 : inherited;
        if (key->row.failed) {
            buffer_reset(&key->row);
            return;
        }
        frequent->count += free ? 1 : 0;
    }
    key->reads += reads;
    key->writes += writes;
}

/* Put the key in its place among those listed, which descend. */
static size_t insert(const struct frequent_key **keys,
                     size_t count,
                     size_t count_max,
                     const struct frequent_key *key)
{
    size_t at = count < count_max ? count : count_max - 1;
    if (count == count_max &&
        weight_of(keys[at]) - keys[at]->error >= weight_of(key) - key->error) {
        return count;
    }
    while (at > 0 && weight_of(keys[at - 1]) - keys[at - 1]->error < weight_of(key) - key->error) {
        keys[at] = keys[at - 1];
        at -= 1;
    }
    keys[at] = key;
    return count < count_max ? count + 1 : count;
}

size_t frequent_keys_list(const struct frequent_keys *frequent,
                          double weight_min,
                          const struct frequent_key **ret_keys,
                          size_t count_max)
{
    size_t count = 0;
    for (uint32_t i = 0; i < frequent->count; i++) {
        const struct frequent_key *key = &frequent->keys[i];
        if (count_max > 0 && weight_of(key) > 0 && weight_of(key) - key->error >= weight_min) {
            count = insert(ret_keys, count, count_max, key);
        }
    }
    return count;
}

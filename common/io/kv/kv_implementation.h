/*
 * What an implementation of kv.h provides.  Only kv.c, kv_lmdb.c and kv_memory.c include this.
 *
 * Each of the four objects begins with a pointer to its implementation's operations; the calls
 * have the meaning of their namesakes in kv.h.
 */
#ifndef COMMON_IO_KV_KV_IMPLEMENTATION_H
#define COMMON_IO_KV_KV_IMPLEMENTATION_H

#include "common/io/kv/kv.h"

struct kv_operations {
    void (*close)(struct kv *kv);
    void (*statistics)(struct kv *kv, struct kv_statistics *ret_statistics);

    enum status (*read_begin)(struct kv *kv, struct kv_read **ret_read);
    void (*read_end)(struct kv_read *read);
    enum status (*read_get)(struct kv_read *read,
                            struct bytes key,
                            struct bytes *ret_value,
                            bool *ret_found);
    uint64_t (*read_version)(const struct kv_read *read);

    enum status (*write_begin)(struct kv *kv, struct kv_write **ret_write);
    void (*write_abort)(struct kv_write *write);
    enum status (*write_commit)(struct kv_write *write);
    enum status (*write_get)(struct kv_write *write,
                             struct bytes key,
                             struct bytes *ret_value,
                             bool *ret_found);
    enum status (*write_put)(struct kv_write *write, struct bytes key, struct bytes value);
    enum status (*write_delete)(struct kv_write *write, struct bytes key, bool *ret_found);
    uint64_t (*write_dirty_bytes)(const struct kv_write *write);

    enum status (*cursor_open_read)(struct kv_read *read, struct kv_cursor **ret_cursor);
    enum status (*cursor_open_write)(struct kv_write *write, struct kv_cursor **ret_cursor);
    void (*cursor_close)(struct kv_cursor *cursor);
    enum status (*cursor_move)(struct kv_cursor *cursor,
                               enum kv_move move,
                               struct bytes key,
                               struct bytes *ret_key,
                               struct bytes *ret_value,
                               bool *ret_found);
};

struct kv {
    const struct kv_operations *operations;
};

struct kv_read {
    const struct kv_operations *operations;
};

struct kv_write {
    const struct kv_operations *operations;
};

struct kv_cursor {
    const struct kv_operations *operations;
};

#endif /* COMMON_IO_KV_KV_IMPLEMENTATION_H */

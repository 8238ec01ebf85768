/*
 * Which catalog a store belongs to: the file CATALOG in its folder.
 *
 * A catalog that was emptied, or put back from an old copy, gives numbers of tables and tablets a
 * second time.  So a store keeps who its catalog is, and the highest version that it was told of it,
 * durably before anything of that version is done, and takes no other.
 *
 *   two slots of 4096 bytes, written by turns, so that one that was torn leaves the other
 *     offset  size
 *          0     8  "EDUCATLG"
 *          8     8  serial: of two good slots the one with the higher serial counts
 *         16     8  generation of the catalog
 *         24     8  version
 *         32     8  checksum of all before it
 *
 * The file is made at its full size when a store is told of its first catalog: from then on a note is
 * one write in place and one sync.
 *
 * Thread rule: one thread at a time.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_CATALOG_H
#define TABLETSERVER_STORAGE_STORE_STORE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/io/file.h"

/* Of a catalog: */
struct store_catalog_mark {
    uint64_t generation; /* 0 = the store was told of none yet */
    uint64_t version;
};

struct store_catalog {
    char folder[FILE_PATH_SIZE_MAX];
    struct file file; /* closed until there is one */
    struct store_catalog_mark mark;
    uint64_t serial;
};

/* What a master says of its catalog. */
struct store_catalog_offer {
    uint64_t generation;
    uint64_t version;     /* the newest; 0 = an older master, which does not say */
    uint64_t predecessor; /* generation of the one that it was ordered to succeed; 0 = none */
};

/* Errors: STATUS_CORRUPT (no slot is good: names the file, and what to do), those of files. */
enum status store_catalog_open(const char *folder,
                               struct store_catalog *ret_catalog,
                               struct error *ret_error);
void store_catalog_close(struct store_catalog *catalog); /* never opened, but zeroed: fine */

/* May what the master says be done?  Pure.  Errors: STATUS_FAILED_PRECONDITION: says what was found,
 * and what to do. */
enum status store_catalog_check(const struct store_catalog *catalog,
                                const struct store_catalog_offer *offer,
                                struct error *ret_error);

/* Is it kept already, or a later version of the same catalog? */
bool store_catalog_has(const struct store_catalog *catalog, const struct store_catalog_mark *mark);

/*
 * Keep it; durable when it returns.  Of the same catalog and a version that is known nothing is done.
 * Errors: those of files; the mark is then as it was.
 */
enum status store_catalog_note(struct store_catalog *catalog,
                               const struct store_catalog_mark *mark,
                               struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_CATALOG_H */

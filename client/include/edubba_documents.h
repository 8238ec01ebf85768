/*
 * edubba_documents.h -- documents: small named bytes that the cluster's master keeps for programs.
 *
 * For what belongs to a cluster as a whole and is no data of its tables: settings of a tool, the
 * instances and app profiles of the Bigtable gateway.  The master does not look into them.  They
 * are durable, and there may be 64 MiB of them (each counts with its name and 128 bytes more).
 *
 * VERSIONS.  Every document has one; a put says which version it replaces, 0 for "there is none
 * yet", so two programs cannot overwrite each other's changes:
 *
 *     struct edubba_document *before;
 *     uint64_t version;
 *     do {
 *         if (edubba_get_document(client, name, &before, &error) != EDUBBA_OK) { ... }
 *         ... make content out of before->content
 *         code = edubba_put_document(client, name, content, before->version, &version, &error);
 *         edubba_free(before);
 *     } while (code == EDUBBA_ABORTED);
 *
 * A version never comes back, not even for a document that was deleted and made again.  Documents
 * that belong together are put together, all or none (edubba_put_documents()).
 *
 * NAMES are 1 to 512 bytes, any bytes; they are listed in bytewise order.  Choose a prefix of your
 * own, as they are shared by all programs: the gateway's is "bigtable/".
 *
 * THREADS, ERRORS, MEMORY as in edubba.h.  All calls block, until a master has answered or the
 * client's deadline_ms has passed; not to be called in completions.
 */
#ifndef EDUBBA_DOCUMENTS_H
#define EDUBBA_DOCUMENTS_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EDUBBA_DOCUMENT_NAME_BYTES_MAX 512
#define EDUBBA_DOCUMENT_BYTES_MAX      65536
#define EDUBBA_DOCUMENTS_PER_PUT_MAX   128

struct edubba_document {
    struct edubba_bytes name;
    struct edubba_bytes content;
    uint64_t version;
};

/*
 * Put the content (1 to EDUBBA_DOCUMENT_BYTES_MAX bytes) under the name, or with no bytes delete
 * it, if the document has the version expected; 0 = if there is none.
 * *version (may be NULL): after EDUBBA_OK its new one, 0 of a deleted one; after EDUBBA_ABORTED the
 * one that is there, 0 if there is none.
 * Errors: EDUBBA_ABORTED (another version), EDUBBA_INVALID_ARGUMENT (too long, or empty),
 * EDUBBA_RESOURCE_EXHAUSTED (all documents together would be too large), EDUBBA_UNAVAILABLE,
 * EDUBBA_DEADLINE_EXCEEDED (these two: it may or may not have been put).
 */
enum edubba_code edubba_put_document(struct edubba_client *client,
                                     struct edubba_bytes name,
                                     struct edubba_bytes content,
                                     uint64_t expected,
                                     uint64_t *version,
                                     struct edubba_error *error);

/*
 * The same with 1 to EDUBBA_DOCUMENTS_PER_PUT_MAX documents of different names: all are put, in one
 * step, or nothing is.  The version in each says which it replaces, 0 = there is none.
 * *version, *index (may be NULL): after EDUBBA_OK the version of all that were put; after
 * EDUBBA_ABORTED the one that is there of documents[*index], the first with another than expected.
 */
enum edubba_code edubba_put_documents(struct edubba_client *client,
                                      const struct edubba_document *documents,
                                      size_t count,
                                      uint64_t *version,
                                      size_t *index,
                                      struct edubba_error *error);

/* *document: edubba_free() it.  Errors: EDUBBA_NOT_FOUND. */
enum edubba_code edubba_get_document(struct edubba_client *client,
                                     struct edubba_bytes name,
                                     struct edubba_document **document,
                                     struct edubba_error *error);

/* Documents whose names begin with prefix, from the name start on (empty: from the first),
 * count_max of them or fewer; 0 = all.  Many come in several answers: together they are not one
 * moment's picture.  *documents: edubba_free() it. */
enum edubba_code edubba_list_documents(struct edubba_client *client,
                                       struct edubba_bytes prefix,
                                       struct edubba_bytes start,
                                       uint32_t count_max,
                                       struct edubba_document **documents,
                                       size_t *count,
                                       struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_DOCUMENTS_H */

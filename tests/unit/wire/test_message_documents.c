/* Documents as messages. */
#include "message_claims.h"

Test(message, a_list_of_documents_believes_no_count)
{
    /* [array32 of 2^32-1 documents, of which one follows, more] */
    static const uint8_t documents[] = {0x92, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x93,
                                        0xc4, 1,    'n',  0xc4, 1,    'c',  7};
    EXPECT_CLAIM_REFUSED(list_documents_response, documents, "list_documents_response.documents");
}

Test(message, a_document_keeps_every_field)
{
    const struct document documents[] = {
        {bytes_of_text("a"), bytes_of_text("content"), 7},
        {bytes_of_text("b"), BYTES_EMPTY, UINT64_MAX},
    };
    const struct list_documents_response response = {documents, 2, true};
    struct list_documents_response back = {0};
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    list_documents_response_encode(&response, &out);
    cr_assert_eq(list_documents_response_decode(buffer_bytes(&out), &arena, &back, NULL),
                 STATUS_OK);
    cr_assert_eq(back.document_count, 2);
    cr_assert(back.more);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(bytes_equal(back.documents[i].name, documents[i].name));
        cr_assert(bytes_equal(back.documents[i].content, documents[i].content));
        cr_assert_eq(back.documents[i].version, documents[i].version);
    }
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, documents_to_put_believe_no_count)
{
    /* [[array32 of 2^32-1 documents, of which one follows]] */
    static const uint8_t documents[] = {0x91, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x93,
                                        0xc4, 1,    'n',  0xc4, 1,    'c',  7};
    EXPECT_CLAIM_REFUSED(put_documents_request, documents, "put_documents_request.documents");
}

#include <inttypes.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "edubba_documents.h"

static void print_document(const struct session *session, const struct edubba_document *document)
{
    if (session->json) {
        fputc('{', session->out);
        print_json_bytes(session->out, "name", document->name);
        fprintf(session->out, ",\"version\":\"%" PRIu64 "\",\"size\":%zu}\n", document->version,
                document->content.size);
        return;
    }
    fprintf(session->out, "%-12" PRIu64 " %8zu ", document->version, document->content.size);
    print_quoted(session->out, document->name);
    fputc('\n', session->out);
}

int run_documents(struct session *session)
{
    const char *word = session->argument_count > 0 ? session->arguments[0] : "prefix=";
    struct edubba_document *documents = NULL;
    struct edubba_error error;
    size_t count = 0;

    if (strncmp(word, "prefix=", 7) != 0) {
        return session_misuse(session, "documents takes prefix=NAME, not '%s'", word);
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_list_documents(client, EDUBBA_TEXT(word + 7), EDUBBA_NOTHING, 0, &documents, &count,
                              &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    if (!session->json) {
        fprintf(session->out, "%-12s %8s %s\n", "VERSION", "BYTES", "NAME");
    }
    for (size_t i = 0; i < count; i++) {
        print_document(session, &documents[i]);
    }
    edubba_free(documents);
    return EXIT_CODE_OK;
}

int run_document(struct session *session)
{
    struct edubba_client *client = session_client(session);
    struct edubba_document *document = NULL;
    struct edubba_error error;

    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_get_document(client, EDUBBA_TEXT(session->arguments[0]), &document, &error) !=
        EDUBBA_OK) {
        return session_fail(session, &error);
    }
    if (session->json) {
        fputc('{', session->out);
        print_json_bytes(session->out, "name", document->name);
        fprintf(session->out, ",\"version\":\"%" PRIu64 "\",", document->version);
        print_json_bytes(session->out, "content", document->content);
        fputs("}\n", session->out);
    } else {
        print_quoted(session->out, document->content);
        fputc('\n', session->out);
    }
    edubba_free(document);
    return EXIT_CODE_OK;
}

#include "client/cli/importer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void importer_begin(struct importer *importer, struct session *session, struct edubba_table *table)
{
    *importer = (struct importer){
        .session = session, .table = table, .path = session->arguments[1], .line = 1};
    (void)pthread_mutex_init(&importer->lock, NULL);
    progress_begin(&importer->progress, "rows");
}

static void on_written(void *context, const struct edubba_result *result)
{
    struct importer *importer = context;
    if (result->code == EDUBBA_OK) {
        return;
    }
    (void)pthread_mutex_lock(&importer->lock);
    if (!importer->failed) {
        importer->failed = true;
        importer->error.code = result->code;
        (void)snprintf(importer->error.text, sizeof importer->error.text, "%s", result->text);
    }
    (void)pthread_mutex_unlock(&importer->lock);
}

static bool has_failed(struct importer *importer)
{
    (void)pthread_mutex_lock(&importer->lock);
    bool failed = importer->failed;
    (void)pthread_mutex_unlock(&importer->lock);
    return failed;
}

bool importer_write(struct importer *importer,
                    struct edubba_bytes row,
                    const struct edubba_mutation *mutations,
                    size_t count)
{
    struct edubba_operation operation = {.kind = EDUBBA_OPERATION_MUTATE,
                                         .row = row,
                                         .mutations = mutations,
                                         .mutation_count = count};
    struct edubba_error error;

    if (edubba_submit(importer->table, &operation, on_written, importer, &error) != EDUBBA_OK) {
        on_written(importer, &(struct edubba_result){.code = error.code, .text = error.text});
    }
    importer->rows += 1;
    progress_step(&importer->progress, importer->rows);
    return !has_failed(importer);
}

int importer_end(struct importer *importer)
{
    edubba_drain(importer->session->client);
    progress_end(&importer->progress);
    bool failed = has_failed(importer);
    (void)pthread_mutex_destroy(&importer->lock);
    if (failed) {
        return session_fail(importer->session, &importer->error);
    }
    fprintf(importer->session->out,
            importer->session->json ? "{\"rows\":%llu}\n" : "%llu rows imported\n", importer->rows);
    return EXIT_CODE_OK;
}

int importer_refuse(const struct importer *importer, const char *why)
{
    edubba_drain(importer->session->client);
    return session_file_failed(importer->session,
                               "%s:%llu: %s; the %llu rows before it are imported", importer->path,
                               importer->line, why, importer->rows);
}

int run_import(struct session *session)
{
    const char *path = session->arguments[1];
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;

    if (file == NULL) {
        return session_file_failed(session, "%s: %s", path, strerror(errno));
    }
    int code;
    errno = 0;
    if (getline(&line, &capacity, file) < 0) {
        code = session_file_failed(session, "%s%s%s", path, errno != 0 ? ": " : " is empty",
                                   errno != 0 ? strerror(errno) : "");
    } else if (strncmp(line, "{\"edubba_export\":", strlen("{\"edubba_export\":")) == 0) {
        code = import_export(session, file, line);
    } else {
        code = import_csv(session, file, line);
    }
    free(line);
    (void)fclose(file);
    return code;
}

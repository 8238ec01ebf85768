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

/* A write on its way. */
struct written {
    struct importer *importer;
    unsigned long long line;
    bool ends_row;
};

static void keep_failure(struct importer *importer,
                         unsigned long long line,
                         enum edubba_code code,
                         const char *text)
{
    if (!importer->failed || line < importer->failed_line) {
        importer->failed = true;
        importer->failed_line = line;
        importer->error.code = code;
        (void)snprintf(importer->error.text, sizeof importer->error.text, "%s", text);
    }
}

static void on_written(void *context, const struct edubba_result *result)
{
    struct written *written = context;
    struct importer *importer = written->importer;
    (void)pthread_mutex_lock(&importer->lock);
    if (result->code != EDUBBA_OK) {
        keep_failure(importer, written->line, result->code, result->text);
    } else {
        importer->written += written->ends_row;
    }
    (void)pthread_mutex_unlock(&importer->lock);
    free(written);
}

bool importer_has_failed(struct importer *importer)
{
    (void)pthread_mutex_lock(&importer->lock);
    bool failed = importer->failed;
    (void)pthread_mutex_unlock(&importer->lock);
    return failed;
}

bool importer_write(struct importer *importer,
                    struct edubba_bytes row,
                    const struct edubba_mutation *mutations,
                    size_t count,
                    bool ends_row)
{
    struct edubba_operation operation = {.kind = EDUBBA_OPERATION_MUTATE,
                                         .row = row,
                                         .mutations = mutations,
                                         .mutation_count = count};
    struct edubba_error error = {EDUBBA_RESOURCE_EXHAUSTED, "out of memory"};
    struct written *written = malloc(sizeof *written);

    if (written != NULL) {
        *written = (struct written){importer, importer->line, ends_row};
    }
    if (written == NULL ||
        edubba_submit(importer->table, &operation, on_written, written, &error) != EDUBBA_OK) {
        free(written);
        (void)pthread_mutex_lock(&importer->lock);
        keep_failure(importer, importer->line, error.code, error.text);
        (void)pthread_mutex_unlock(&importer->lock);
    }
    importer->rows += ends_row;
    progress_step(&importer->progress, importer->rows);
    return !importer_has_failed(importer);
}

static int say_failure(const struct importer *importer)
{
    struct edubba_error error = {.code = importer->error.code};
    (void)snprintf(error.text, sizeof error.text, "%.120s:%llu: %.300s; %llu rows are imported",
                   importer->path, importer->failed_line, importer->error.text, importer->written);
    return session_fail(importer->session, &error);
}

int importer_end(struct importer *importer)
{
    edubba_drain(importer->session->client);
    progress_end(&importer->progress);
    bool failed = importer_has_failed(importer);
    (void)pthread_mutex_destroy(&importer->lock);
    if (failed) {
        return say_failure(importer);
    }
    fprintf(importer->session->out,
            importer->session->json ? "{\"rows\":%llu}\n" : "%llu rows imported\n", importer->rows);
    return EXIT_CODE_OK;
}

int importer_refuse(struct importer *importer, const char *why)
{
    edubba_drain(importer->session->client);
    if (importer_has_failed(importer)) {
        return say_failure(importer);
    }
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

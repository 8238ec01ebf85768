#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/* Notes beyond them are dropped: the log may miss a line, an answer never goes missing. */
#define NOTES_MAX  64
#define OTHERS_MAX 5

static struct catalog_effect *emit(struct catalog *catalog, enum catalog_effect_type type)
{
    ASSERT(catalog->effect_count < catalog->effect_capacity);
    struct catalog_effect *effect = &catalog->effects[catalog->effect_count++];
    *effect = (struct catalog_effect){.type = type};
    return effect;
}

enum status effects_reserve(struct catalog *catalog)
{
    /* every open request, every parked sync, the event's own request, two transactions (of which
     * one fails), its load, and notes */
    size_t wanted = catalog->request_count + catalog->server_count + OTHERS_MAX + NOTES_MAX;

    if (wanted <= catalog->effect_capacity) {
        return STATUS_OK;
    }
    wanted += wanted / 2;
    struct catalog_effect *grown = memory_resize(catalog->effects,
                                                 wanted * sizeof *catalog->effects);
    if (grown == NULL) {
        return STATUS_NO_MEMORY;
    }
    catalog->effects = grown;
    catalog->effect_capacity = wanted;
    return STATUS_OK;
}

void emit_persist(struct catalog *catalog, const struct transaction *transaction)
{
    struct catalog_effect *effect = emit(catalog, CATALOG_EFFECT_PERSIST);
    effect->number = transaction->number;
    effect->puts = transaction->puts;
    effect->put_count = transaction->put_count;
}

void emit_error(struct catalog *catalog, uint64_t request, const struct error *error)
{
    struct catalog_effect *effect = emit(catalog, CATALOG_EFFECT_REPLY);
    ASSERT(error->status != STATUS_OK);
    effect->number = request;
    effect->status = error->status;
    memcpy(effect->text, error->text, sizeof effect->text);
}

void emit_reply(struct catalog *catalog, uint64_t request, struct buffer *message)
{
    if (message->failed) {
        struct error error = {0};
        buffer_deinit(message);
        (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        emit_error(catalog, request, &error);
        return;
    }
    struct catalog_effect *effect = emit(catalog, CATALOG_EFFECT_REPLY);
    effect->number = request;
    effect->status = STATUS_OK;
    effect->message = *message;
    buffer_init(message);
}

void emit_note(struct catalog *catalog, const struct catalog_note *note, const char *format, ...)
{
    va_list arguments;

    /* Places beyond the notes' own are kept for answers. */
    if (catalog->effect_count + catalog->request_count + catalog->server_count + OTHERS_MAX >=
        catalog->effect_capacity) {
        return;
    }
    struct catalog_effect *effect = emit(catalog, CATALOG_EFFECT_LOG);
    effect->note = *note;
    va_start(arguments, format);
    (void)vsnprintf(effect->note.text, sizeof effect->note.text, format, arguments);
    va_end(arguments);
}

void emit_load(struct catalog *catalog, struct located_report *load)
{
    emit(catalog, CATALOG_EFFECT_LOAD)->load = load;
}

struct buffer effects_begin_message(void)
{
    struct buffer message = BUFFER_INIT;
    struct response_head head = {.status = STATUS_OK, .text = BYTES_EMPTY};
    response_head_encode(&head, &message);
    return message;
}

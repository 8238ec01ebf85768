/*
 * Reads tests/unit/data/hll_vectors.txt: what Zetasketch, run for the purpose, gave (and a few
 * values published elsewhere).  One record a line, TAB separated, the kind first; the file's head
 * explains each kind.
 *
 * hll_vectors_each() counts what it hands out and insists on the number: a record that a test
 * silently passes over is a failure.
 */
#ifndef TESTS_UNIT_MODEL_HLL_VECTORS_H
#define TESTS_UNIT_MODEL_HLL_VECTORS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

#define HLL_VECTOR_FIELDS_MAX 12

struct hll_vector {
    size_t line;
    size_t count;
    const char *fields[HLL_VECTOR_FIELDS_MAX];
};

typedef void (*hll_vector_check)(const struct hll_vector *vector, void *context);

/* The text after "<name>=" in the field that starts so; fails the test if there is none. */
static inline const char *hll_vector_named(const struct hll_vector *vector, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < vector->count; i++) {
        if (strncmp(vector->fields[i], name, length) == 0 && vector->fields[i][length] == '=') {
            return vector->fields[i] + length + 1;
        }
    }
    cr_assert_fail("line %zu has no field %s", vector->line, name);
    return "";
}

static inline uint64_t hll_vector_number(const struct hll_vector *vector, const char *name)
{
    return strtoull(hll_vector_named(vector, name), NULL, 10);
}

static inline uint64_t hll_vector_hex(const struct hll_vector *vector, const char *name)
{
    return strtoull(hll_vector_named(vector, name), NULL, 16);
}

static inline struct bytes hll_vector_of_hex(const char *text, uint8_t *data, size_t capacity)
{
    size_t size = strlen(text) / 2;
    cr_assert_leq(size, capacity);
    for (size_t i = 0; i < size; i++) {
        unsigned byte = 0;
        cr_assert_eq(sscanf(text + 2 * i, "%2x", &byte), 1);
        data[i] = (uint8_t)byte;
    }
    return bytes_of(data, size);
}

static inline char *hll_vectors_read_file(void)
{
    FILE *file = fopen(EDUBBA_SOURCE_DIR "/tests/unit/data/hll_vectors.txt", "rb");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    cr_assert_gt(size, 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    cr_assert_not_null(text);
    cr_assert_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

static inline struct hll_vector hll_vector_split(char *line, size_t number)
{
    struct hll_vector vector = {.line = number};
    char *rest = line;
    while (rest != NULL) {
        cr_assert_lt(vector.count, HLL_VECTOR_FIELDS_MAX, "line %zu has many fields", number);
        char *field = rest;
        rest = strchr(field, '\t');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        vector.fields[vector.count++] = field;
    }
    return vector;
}

/* Call check with every record of that kind (of any kind if NULL), which must be `expected`. */
static inline void hll_vectors_each(const char *kind,
                                    size_t expected,
                                    hll_vector_check check,
                                    void *context)
{
    char *text = hll_vectors_read_file();
    size_t number = 0;
    size_t found = 0;
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        number++;
        if (*line != '#' && *line != '\0') {
            struct hll_vector vector = hll_vector_split(line, number);
            if (kind == NULL || strcmp(vector.fields[0], kind) == 0) {
                check(&vector, context);
                found++;
            }
        }
        line = end;
    }
    cr_assert_eq(found, expected, "%zu records of kind %s, not %zu", found,
                 kind == NULL ? "any" : kind, expected);
    free(text);
}

#endif /* TESTS_UNIT_MODEL_HLL_VECTORS_H */

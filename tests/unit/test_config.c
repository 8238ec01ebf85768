#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "common/io/config.h"

static char path[128];
static struct arena arena;

struct settings {
    const char *name;
    bool insecure;
    int64_t port;
    uint64_t memory_bytes;
    int64_t interval_us;
    struct config_text_list folders;
};

static struct settings settings;

static const struct config_key keys[] = {
    {.name = "name", .type = CONFIG_TEXT, .target = &settings.name, .required = true},
    {.name = "insecure", .type = CONFIG_BOOL, .target = &settings.insecure},
    {.name = "http.port", .type = CONFIG_NUMBER, .target = &settings.port, .maximum = 65535},
    {.name = "memory",
     .type = CONFIG_SIZE_BYTES,
     .target = &settings.memory_bytes,
     .minimum = 4096,
     .maximum = INT64_MAX},
    {.name = "http.client.interval", .type = CONFIG_DURATION_US, .target = &settings.interval_us},
    {.name = "folders", .type = CONFIG_TEXT_LIST, .target = &settings.folders},
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static void begin(void)
{
    (void)snprintf(path, sizeof path, "/tmp/edubba-test-config-%d.conf", (int)getpid());
    arena_init(&arena, 4096, SIZE_MAX);
    settings = (struct settings){.name = "default", .port = 7, .memory_bytes = 8, .interval_us = 9};
}

static void end(void)
{
    (void)unlink(path);
    arena_deinit(&arena);
}

TestSuite(config, .init = begin, .fini = end);

static enum status load(const char *text, struct error *error)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(text, file);
    fclose(file);
    return config_load(path, keys, KEY_COUNT, &arena, error);
}

Test(config, reads_every_type)
{
    struct error error = {0};
    enum status status = load("# a comment\n"
                              "name = \"one\";\n"
                              "insecure = true;\n"
                              "http = { port = 8080; client: { interval = \"250 ms\"; }; };\n"
                              "memory = \"512 MiB\";\n"
                              "folders = [ \"a\", \"b/c\" ];\n",
                              &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    cr_assert_str_eq(settings.name, "one");
    cr_assert(settings.insecure);
    cr_assert_eq(settings.port, 8080);
    cr_assert_eq(settings.interval_us, 250000);
    cr_assert_eq(settings.memory_bytes, 512u << 20);
    cr_assert_eq(settings.folders.count, 2);
    cr_assert_str_eq(settings.folders.items[1], "b/c");
}

Test(config, absent_keys_keep_their_defaults)
{
    cr_assert_eq(load("name = \"x\"; memory = 4096;", NULL), STATUS_OK);
    cr_assert_eq(settings.port, 7);
    cr_assert_eq(settings.interval_us, 9);
    cr_assert_eq(settings.memory_bytes, 4096);
    cr_assert_eq(settings.folders.count, 0);
}

/* The text must be refused, at this line, with this in the message. */
static void refuse(const char *text, const char *line, const char *words)
{
    struct error error = {0};
    char place[160];
    enum status status = load(text, &error);
    cr_assert_eq((int)status, STATUS_INVALID_ARGUMENT, "accepted: %s", text);
    (void)snprintf(place, sizeof place, "%s%s", path, line);
    cr_assert(strstr(error.text, place) == error.text, "%s", error.text);
    cr_assert(strstr(error.text, words) != NULL, "%s", error.text);
}

Test(config, errors_name_file_line_and_key)
{
    refuse("name = \"x\";\n\nadress = \"y\";\n", ":3: ", "unknown key 'adress'");
    refuse("name = \"x\";\nhttp = {\n  prot = 3;\n};\n", ":3: ", "unknown key 'http.prot'");
    refuse("name = \"x\";\nhtpt = {\n  port = 3;\n};\n", ":2: ", "unknown key 'htpt'");
    refuse("name = 5;\n", ":1: ", "name must be a text");
    refuse("name = \"x\";\ninsecure = 1;\n", ":2: ", "true or false");
    refuse("name = \"x\";\nhttp = { port = 65536; };\n", ":2: ", "http.port is 65536");
    refuse("name = \"x\";\nhttp = { port = \"80\"; };\n", ":2: ", "whole number");
    refuse("name = \"x\";\nmemory = \"12 MIB\";\n", ":2: ", "size like");
    refuse("name = \"x\";\nmemory = -1;\n", ":2: ", "size like");
    refuse("name = \"x\";\nmemory = \"1 KiB\";\n", ":2: ", "memory is 1024 bytes");
    refuse("name = \"x\";\nhttp = { client: { interval = 10; }; };\n", ":2: ", "duration like");
    refuse("name = \"x\";\nfolders = \"a\";\n", ":2: ", "list of texts");
    refuse("name = \"x\";\nfolders = [ 1, 2 ];\n", ":2: ", "list of texts");
    refuse("name = \"x\";\nname = \"y\";\n", ":2: ", "duplicate");
    refuse("name = \"x\";\n{\n", ":2: ", "syntax error");
    refuse("insecure = false;\n", ": ", "key 'name' is missing");
}

Test(config, a_missing_file_is_named)
{
    struct error error;
    cr_assert_eq(config_load("/nowhere/edubba.conf", keys, KEY_COUNT, &arena, &error),
                 STATUS_NOT_FOUND);
    cr_assert(strstr(error.text, "/nowhere/edubba.conf") != NULL, "%s", error.text);
}

Test(config, assignments_from_a_command_line)
{
    struct error error;
    cr_assert_eq(config_set("name=a=b", keys, KEY_COUNT, &arena, &error), STATUS_OK);
    cr_assert_str_eq(settings.name, "a=b");
    cr_assert_eq(config_set("http.port=0", keys, KEY_COUNT, &arena, &error), STATUS_OK);
    cr_assert_eq(settings.port, 0);
    cr_assert_eq(config_set("memory=1 GiB", keys, KEY_COUNT, &arena, &error), STATUS_OK);
    cr_assert_eq(settings.memory_bytes, 1u << 30);
    cr_assert_eq(config_set("folders=x,y,z", keys, KEY_COUNT, &arena, &error), STATUS_OK);
    cr_assert_eq(settings.folders.count, 3);
    cr_assert_str_eq(settings.folders.items[2], "z");
    cr_assert_eq(config_set("insecure=true", keys, KEY_COUNT, &arena, &error), STATUS_OK);
    cr_assert(settings.insecure);
    cr_assert_eq(config_set("insecure=yes", keys, KEY_COUNT, &arena, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(config_set("http.port=80x", keys, KEY_COUNT, &arena, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(config_set("nothing", keys, KEY_COUNT, &arena, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(config_set("ports=1", keys, KEY_COUNT, &arena, &error), STATUS_INVALID_ARGUMENT);
    cr_assert(strstr(error.text, "'ports'") != NULL, "%s", error.text);
}

Test(config, sizes_and_durations)
{
    uint64_t bytes = 0;
    int64_t us = 0;
    cr_assert(config_parse_size("0", &bytes) && bytes == 0);
    cr_assert(config_parse_size("17", &bytes) && bytes == 17);
    cr_assert(config_parse_size("3 KiB", &bytes) && bytes == 3072);
    cr_assert(config_parse_size("2GB", &bytes) && bytes == 2000000000);
    cr_assert(!config_parse_size("", &bytes));
    cr_assert(!config_parse_size("MiB", &bytes));
    cr_assert(!config_parse_size("1 MiB x", &bytes));
    cr_assert(!config_parse_size("-1", &bytes));
    cr_assert(!config_parse_size("99999999999999999999", &bytes));
    cr_assert(!config_parse_size("8388608 TiB", &bytes), "2^63");
    cr_assert(config_parse_duration("5 us", &us) && us == 5);
    cr_assert(config_parse_duration("15 min", &us) && us == 900000000);
    cr_assert(config_parse_duration("2h", &us) && us == 7200000000);
    cr_assert(config_parse_duration("1 d", &us) && us == 86400000000);
    cr_assert(!config_parse_duration("10", &us));
    cr_assert(!config_parse_duration("10 m", &us), "minutes or metres?");
    cr_assert(!config_parse_duration("300000000 d", &us));
}

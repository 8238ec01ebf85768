#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
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
    const char *masters;
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
    {.name = "masters", .type = CONFIG_TEXT_JOINED, .target = &settings.masters},
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

static struct config_reading reading;

static void read_file(void)
{
    config_reading_begin(&reading, keys, KEY_COUNT, &arena);
    cr_assert_eq(config_load(&reading, path), reading.fault_count == 0);
}

/* The first fault; "" = none. */
static const char *first_fault(void)
{
    return reading.fault_count > 0 ? reading.faults[0] : "";
}

static const char *load(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(text, file);
    fclose(file);
    read_file();
    return first_fault();
}

Test(config, a_joined_text_is_a_text_or_a_list)
{
    static const char *const files[] = {"name = \"x\";\nmasters = \"a,b\";\n",
                                        "name = \"x\";\nmasters = [ \"a\", \"b\" ];\n"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_str_eq(load(files[i]), "");
        cr_assert_str_eq(settings.masters, "a,b");
    }
    cr_assert_not_null(strstr(load("name = \"x\";\nmasters = [ 1 ];\n"), "list of texts"));
    cr_assert_not_null(strstr(load("name = \"x\";\nmasters = 1;\n"), "list of texts"));
}

Test(config, reads_every_type)
{
    const char *fault = load("# a comment\n"
                             "name = \"one\";\n"
                             "insecure = true;\n"
                             "http = { port = 8080; client: { interval = \"250 ms\"; }; };\n"
                             "memory = \"512 MiB\";\n"
                             "folders = [ \"a\", \"b/c\" ];\n");
    cr_assert_str_eq(fault, "");
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
    cr_assert_str_eq(load("name = \"x\"; memory = 4096;"), "");
    cr_assert_eq(settings.port, 7);
    cr_assert_eq(settings.interval_us, 9);
    cr_assert_eq(settings.memory_bytes, 4096);
    cr_assert_eq(settings.folders.count, 0);
}

/* libconfig alone cuts off what is above 32 bits. */
Test(config, numbers_are_taken_whole)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"2147483647", 2147483647},
        {"2147483648", 2147483648},
        {"4294967296", 4294967296},
        {"4294967297", 4294967297},
        {"4294967297L", 4294967297},
        {"+8589934592", 8589934592},
        {"0x100001000", 0x100001000},
        {"0xFFFFFFFF", 0xFFFFFFFF},
        {"9223372036854775807", INT64_MAX},
        {"/* 1 */ 5000000000 # 6000000000", 5000000000},
        {"// 4294967296\n 5000000000", 5000000000},
        {"\"5 GiB\"", UINT64_C(5) << 30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "name = \"9999999999 \\\" 9999999999\";\nmemory = %s\n;",
                       cases[i].text);
        cr_assert_str_eq(load(text), "", "%s", cases[i].text);
        cr_assert_eq(settings.memory_bytes, cases[i].bytes, "%s", cases[i].text);
        cr_assert_str_eq(settings.name, "9999999999 \" 9999999999");
    }
}

/* The text must be refused, at this line, with this in the message. */
static void refuse(const char *text, const char *line, const char *words)
{
    char place[160];
    const char *fault = load(text);
    cr_assert_eq(reading.fault_count, 1, "%s", text);
    (void)snprintf(place, sizeof place, "%s%s", path, line);
    cr_assert(strstr(fault, place) == fault, "%s", fault);
    cr_assert(strstr(fault, words) != NULL, "%s", fault);
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
    refuse("name = \"x\";\nmemory = \"1 KiB\";\n", ":2: ", "memory is \"1 KiB\"");
    refuse("name = \"x\";\nhttp = { client: { interval = 10; }; };\n", ":2: ", "duration like");
    refuse("name = \"x\";\nfolders = \"a\";\n", ":2: ", "list of texts");
    refuse("name = \"x\";\nfolders = [ 1, 2 ];\n", ":2: ", "list of texts");
    refuse("name = \"x\";\nname = \"y\";\n", ":2: ", "duplicate");
    refuse("name = \"x\";\n{\n", ":2: ", "syntax error");
    refuse("insecure = false;\n", ": ", "key 'name' is missing");
}

Test(config, of_what_cannot_be_read_it_is_said_how_it_is_written)
{
    static const char *const texts[] = {"name = x;\n", "memory = 1 GiB;\n", "http.port = 80;\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        refuse(texts[i], ":1: syntax error, ", "durations in quotes");
        refuse(texts[i], ":1: syntax error, ", "GROUP.KEY = VALUE is written GROUP = { KEY = ");
    }
}

Test(config, a_missing_file_is_named)
{
    (void)snprintf(path, sizeof path, "/nowhere/edubba.conf");
    read_file();
    cr_assert_str_eq(first_fault(), "/nowhere/edubba.conf: No such file or directory");
}

Test(config, all_faults_are_told_each_with_its_place)
{
    load("insecure = 1;\nadress = \"y\";\nhttp = {\n  port = 8;\n};\nmemory = \"1 KiB\";\n");
    cr_assert_not(config_set(&reading, "http.port=x"));
    cr_assert(config_set(&reading, "insecure=true"));
    config_refuse(&reading, "http.port", "http.port is not a port");
    config_refuse(&reading, "http.client.interval", "http.client.interval: too short");
    const char *const wanted[] = {":1: insecure", ":2: unknown key 'adress'", ":6: memory",
                                  ": key 'name' is missing"};
    cr_assert_eq(reading.fault_count, 7);
    for (size_t i = 0; i < 4; i++) {
        char start[200];
        (void)snprintf(start, sizeof start, "%s%s", path, wanted[i]);
        cr_assert(strncmp(reading.faults[i], start, strlen(start)) == 0, "%s", reading.faults[i]);
    }
    cr_assert_str_eq(reading.faults[4], "command line: http.port must be a whole number");
    cr_assert_str_eq(reading.faults[5], "command line: http.port is not a port");
    cr_assert_str_eq(reading.faults[6], "http.client.interval: too short"); /* a default */
    cr_assert_eq(settings.port, 8); /* what is good has been taken */
    cr_assert(config_is_refused(&reading, "memory") && config_is_refused(&reading, "http.port"));
    cr_assert_not(config_is_refused(&reading, "folders"));
}

Test(config, what_may_have_been_meant_is_asked)
{
    static const char *const asked[][2] = {
        {"insecur = true;", "unknown key 'insecur'; is 'insecure' meant?"},
        {"Memory = 5;", "unknown key 'Memory'; is 'memory' meant?"},
        {"http = { prot = 3; };", "unknown key 'http.prot'; is 'http.port' meant?"},
        {"port = 3;", "unknown key 'port'; is 'http.port' meant?"}, /* its group is lacking */
        {"http = { interval = \"1 s\"; };", "is 'http.client.interval' meant?"},
    };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "name = \"x\";\n%s\n", asked[i][0]);
        cr_assert_not_null(strstr(load(text), asked[i][1]), "%s", first_fault());
    }
    /* What is near none is not guessed at. */
    static const char *const strange[] = {"colour = 1;", "x = 1;", "na = 1;",
                                          "http = { client = 3; };"};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "name = \"x\";\n%s\n", strange[i]);
        cr_assert_not_null(strstr(load(text), "unknown key"), "%s", first_fault());
        cr_assert_null(strstr(first_fault(), "meant"), "%s", first_fault());
    }
    char assignment[300];
    memset(assignment, 'n', sizeof assignment);
    (void)snprintf(assignment + 200, sizeof assignment - 200, "=1");
    config_reading_begin(&reading, keys, KEY_COUNT, &arena);
    cr_assert_not(config_set(&reading, assignment));
    cr_assert_null(strstr(first_fault(), "meant"), "%s", first_fault());
}

Test(config, a_value_out_of_range_is_told_as_it_is_written)
{
    cr_assert_not_null(strstr(load("name = \"x\";\nmemory = \"1 KiB\";\n"),
                              "memory is \"1 KiB\", allowed are \"4 KiB\" and more"),
                       "%s", first_fault());
    cr_assert_not_null(strstr(load("name = \"x\";\nhttp = { port = 65536; };\n"),
                              "http.port is 65536, allowed are 0 to 65535"),
                       "%s", first_fault());
}

Test(config, a_place_is_that_of_the_value_that_holds)
{
    load("name = \"x\";\nhttp = {\n  port = 8;\n};\n");
    config_refuse(&reading, "http.port", "bad");
    cr_assert(strstr(first_fault(), ":3: bad") != NULL, "%s", first_fault());
    cr_assert(config_set(&reading, "http.port=9"));
    config_refuse(&reading, "http.port", "bad");
    cr_assert_str_eq(reading.faults[1], "command line: bad");
}

Test(config, only_so_many_faults_are_kept)
{
    config_reading_begin(&reading, keys, KEY_COUNT, &arena);
    for (size_t i = 0; i < CONFIG_FAULTS_MAX * 2; i++) {
        cr_assert_not(config_set(&reading, "nonsense=1"));
    }
    cr_assert_eq(reading.fault_count, CONFIG_FAULTS_MAX * 2);
    cr_assert_str_eq(reading.faults[CONFIG_FAULTS_MAX - 1], "unknown key 'nonsense'");
}

Test(config, assignments_from_a_command_line)
{
    config_reading_begin(&reading, keys, KEY_COUNT, &arena);
    cr_assert(config_set(&reading, "name=a=b"));
    cr_assert_str_eq(settings.name, "a=b");
    cr_assert(config_set(&reading, "http.port=0"));
    cr_assert_eq(settings.port, 0);
    cr_assert(config_set(&reading, "memory=1 GiB"));
    cr_assert_eq(settings.memory_bytes, 1u << 30);
    cr_assert(config_set(&reading, "folders=x,y,z"));
    cr_assert_eq(settings.folders.count, 3);
    cr_assert_str_eq(settings.folders.items[2], "z");
    cr_assert(config_set(&reading, "insecure=true"));
    cr_assert(settings.insecure);
    cr_assert_not(config_set(&reading, "insecure=yes"));
    cr_assert_not(config_set(&reading, "http.port=80x"));
    cr_assert_not(config_set(&reading, "nothing"));
    cr_assert_not(config_set(&reading, "ports=1"));
    cr_assert_str_eq(reading.faults[3], "unknown key 'ports'");
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

Test(config, values_are_shown_as_they_may_be_written)
{
    static const char *items[] = {"a", "b"};
    static const struct {
        uint64_t value;
        const char *size;
        const char *duration;
    } quantities[] = {
        {0, "\"0 B\"", "\"0 us\""},
        {1024, "\"1 KiB\"", "\"1024 us\""},
        {1025, "\"1025 B\"", "\"1025 us\""},
        {3221225472, "\"3 GiB\"", "\"3221225472 us\""},
        {7200000000, "\"7031250 KiB\"", "\"2 h\""},
        {90000000, "\"90000000 B\"", "\"90 s\""},
    };
    char text[CONFIG_VALUE_SIZE_MAX];
    settings.folders = (struct config_text_list){items, 2};
    config_format_value(&keys[0], text);
    cr_assert_str_eq(text, "\"default\"");
    config_format_value(&keys[1], text);
    cr_assert_str_eq(text, "false");
    config_format_value(&keys[2], text);
    cr_assert_str_eq(text, "7");
    config_format_value(&keys[5], text);
    cr_assert_str_eq(text, "[\"a\", \"b\"]");
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        settings.memory_bytes = quantities[i].value;
        settings.interval_us = (int64_t)quantities[i].value;
        config_format_value(&keys[3], text);
        cr_assert_str_eq(text, quantities[i].size);
        config_format_value(&keys[4], text);
        cr_assert_str_eq(text, quantities[i].duration);
    }
    static char name[2 * CONFIG_VALUE_SIZE_MAX];
    memset(name, 'n', sizeof name - 1);
    settings.name = name;
    config_format_value(&keys[0], text);
    cr_assert_eq(strlen(text), sizeof text - 1);
    for (size_t i = 0; i < 2; i++) {
        items[i] = name;
    }
    config_format_value(&keys[5], text);
    cr_assert_eq(strlen(text), sizeof text - 1);
}

Test(config, what_cannot_be_read_whole_is_refused)
{
    refuse("name = \"x\";\nmemory = 9223372036854775808;\n", ":2: ", "more than 64 bits");
    refuse("name = \"x\";\nmemory = 0x1FFFFFFFFFFFFFFFF;\n", ":2: ", "more than 64 bits");
    refuse("name = \"x\";\nhttp = { port = 4294967376; };\n", ":2: ", "http.port is 4294967376");
    refuse("name = \"x\";\n\n@include \"other.conf\"\n", ":3: ", "@include");
}

Test(config, a_file_with_a_byte_of_zero_is_refused)
{
    static const char text[] = "name = \"x\";\n\0memory = 5;\n";
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, sizeof text - 1, file), sizeof text - 1);
    (void)fclose(file);
    read_file();
    cr_assert_not_null(strstr(first_fault(), ":2: not a text"), "%s", first_fault());
}

/* The noted grace: what a process has to wait for, whatever was set before it and whenever that one died. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tabletserver/serve/grace_note.h"
#include "tabletserver/serve/settings.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static char folder[] = "/tmp/edubba-grace-XXXXXX";
static char path[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/GRACE", folder);
}

static void remove_folder(void)
{
    (void)chmod(folder, S_IRWXU);
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(grace_note, .init = make_folder, .fini = remove_folder);

/* A start with this setting, at this time. */
static struct grace_note start(int64_t set_ns, int64_t now_ns)
{
    struct grace_note note;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(grace_note_open(folder, set_ns, now_ns, &note, &error), STATUS_OK, "%s",
                 error.text);
    return note;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

Test(grace_note, no_file_means_what_builds_had_that_kept_none)
{
    struct grace_note note = start(2 * S, 100 * S);
    cr_assert_eq(note.former_ns, 2 * S);
    grace_note_settle(&note, 200 * S);
    cr_assert_neq(access(path, F_OK), 0, "it says what no file says: none is written");
    cr_assert_eq(start(500 * MS, 0).former_ns, 2 * S);
}

Test(grace_note, a_longer_one_is_noted_before_it_is_used)
{
    struct grace_note note = start(5 * S, 100 * S);
    cr_assert_eq(note.former_ns, 2 * S, "nobody has promised more before");
    /* It dies at once: it may have promised. */
    cr_assert_eq(start(2 * S, 101 * S).former_ns, 5 * S);
    cr_assert_eq(start(5 * S, 102 * S).former_ns, 5 * S);
}

Test(grace_note, a_shorter_one_is_noted_when_the_longer_one_is_over_and_not_before)
{
    struct grace_note note = start(5 * S, 0);
    note = start(3 * S, 100 * S);
    cr_assert_eq(note.former_ns, 5 * S);
    grace_note_settle(&note, 105 * S - 1);
    /* It dies before that: the next one waits for the longer one again, from its own start. */
    note = start(3 * S, 106 * S);
    cr_assert_eq(note.former_ns, 5 * S);
    grace_note_settle(&note, 110 * S);
    grace_note_settle(&note, 111 * S);
    cr_assert_eq(start(3 * S, 112 * S).former_ns, 3 * S);
    /* And below what no file says. */
    note = start(1 * S, 200 * S);
    grace_note_settle(&note, 203 * S);
    cr_assert_eq(start(1 * S, 204 * S).former_ns, 1 * S);
}

Test(grace_note, what_is_not_as_it_was_written_counts_as_the_longest)
{
    static const char *const bad[] = {
        "",
        "grace 2000000000\n",
        "grace 1000000\nchecksum 0123456789abcdef\n",
        "grace -5\nchecksum 0123456789abcdef\n",
        "\xff\xff garbage",
        "grace 2000000000 and what is longer than such a file ever is, so that it cannot have been "
        "written by any process of any build of this server at all\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i]);
        struct grace_note note = start(2 * S, 100 * S);
        cr_assert_eq(note.former_ns, SERVER_GRACE_US_MAX * 1000, "%zu", i);
        grace_note_settle(&note, 159 * S);
        cr_assert_eq(start(2 * S, 160 * S).former_ns, SERVER_GRACE_US_MAX * 1000, "%zu", i);
        grace_note_settle(&note, 160 * S);
        cr_assert_eq(start(2 * S, 160 * S).former_ns, 2 * S, "it mends itself");
    }
}

/* Every byte of one that is good, changed. */
Test(grace_note, no_byte_of_it_can_change_unseen)
{
    char good[128] = "";
    (void)start(5 * S, 0);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t size = fread(good, 1, sizeof good - 1, file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_gt(size, 20);
    for (size_t at = 0; at < size; at++) {
        char changed[128];
        memcpy(changed, good, sizeof changed);
        changed[at] ^= 1;
        write_file(changed);
        cr_assert_eq(start(5 * S, 0).former_ns, SERVER_GRACE_US_MAX * 1000, "byte %zu", at);
    }
}

Test(grace_note, what_cannot_be_noted_is_not_raised)
{
    struct grace_note note;
    struct error error = {.status = STATUS_OK};
    char inside[80];
    (void)snprintf(inside, sizeof inside, "%s.tmp", path);
    cr_assert_eq(mkdir(inside, S_IRWXU), 0); /* where the new one would be written */
    cr_assert_neq(grace_note_open(folder, 5 * S, 0, &note, &error), STATUS_OK);
    cr_assert_not_null(strstr(error.text, "grace = \"2000 ms\", or less"), "%s", error.text);
    /* One that is lowered waits for room, and says so once. */
    note = start(1 * S, 100 * S);
    grace_note_settle(&note, 103 * S);
    cr_assert_eq(note.noted_ns, 2 * S);
    cr_assert(note.complained);
    cr_assert_eq(rmdir(inside), 0);
    grace_note_settle(&note, 104 * S);
    cr_assert_eq(start(1 * S, 105 * S).former_ns, 1 * S);
}

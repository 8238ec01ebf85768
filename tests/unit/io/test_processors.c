/* What control groups allow of the processors, read from folders that look like the system's. */
#include "common/io/processors.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test_folder.h"

static char root[512];

static void setup(void)
{
    test_folder_make(root, sizeof root, "processors");
}

static void teardown(void)
{
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(processors, .init = setup, .fini = teardown);

/* With the folders that lead there. */
static void put(const char *path, const char *text)
{
    char whole[900];
    int length = snprintf(whole, sizeof whole, "%s/%s", root, path);
    cr_assert(length > 0 && (size_t)length < sizeof whole);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(whole, 0777);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file, "%s", whole);
    cr_assert(fputs(text, file) >= 0);
    cr_assert_eq(fclose(file), 0);
}

Test(processors, without_groups_there_is_no_limit)
{
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
    put("proc/self/cgroup", "0::/\n");
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
}

Test(processors, version_2_says_quota_and_period)
{
    put("proc/self/cgroup", "0::/lab/one\n");
    put("sys/fs/cgroup/lab/one/cpu.max", "max 100000\n");
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
    put("sys/fs/cgroup/lab/one/cpu.max", "2500 10000\n");
    cr_assert_eq(processors_quota_permille(root), 250);
}

Test(processors, the_least_of_a_group_and_those_above_it_counts)
{
    put("proc/self/cgroup", "0::/lab/one/deep\n");
    put("sys/fs/cgroup/lab/one/deep/cpu.max", "80000 100000\n");
    put("sys/fs/cgroup/lab/cpu.max", "50000 100000\n");
    cr_assert_eq(processors_quota_permille(root), 500);
    put("sys/fs/cgroup/cpu.max", "30000 100000\n"); /* what a container sees as its root */
    cr_assert_eq(processors_quota_permille(root), 300);
}

Test(processors, version_1_has_two_files_and_a_controller_of_its_own)
{
    put("proc/self/cgroup", "3:cpuset:/no\n2:cpuacct,cpu:/lab\n1:name=systemd:/cpu\n0::/\n");
    put("sys/fs/cgroup/cpu,cpuacct/lab/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/lab/cpu.cfs_period_us", "10000\n");
    put("sys/fs/cgroup/cpu/no/cpu.cfs_quota_us", "1000\n"); /* of another controller's group */
    put("sys/fs/cgroup/cpu/no/cpu.cfs_period_us", "10000\n");
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
    put("sys/fs/cgroup/cpu,cpuacct/lab/cpu.cfs_quota_us", "15000\n");
    cr_assert_eq(processors_quota_permille(root), 1500);
}

Test(processors, what_cannot_be_understood_sets_no_limit)
{
    put("proc/self/cgroup", "\n:\n::\n0::/a\nx:cpu:\n");
    put("sys/fs/cgroup/a/cpu.max", "10000\n");
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
    put("sys/fs/cgroup/a/cpu.max", "10000 0\n");
    cr_assert_eq(processors_quota_permille(root), UINT64_MAX);
    put("sys/fs/cgroup/a/cpu.max", "1 1000000\n");
    cr_assert_eq(processors_quota_permille(root), 1, "never nothing at all");
}

Test(processors, there_is_at_least_some_and_at_most_the_machine)
{
    cr_assert_geq(processors_permille(), 1);
    cr_assert_leq(processors_permille(), (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000);
}

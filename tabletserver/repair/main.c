#include <stdio.h>
#include <string.h>

#include "tabletserver/storage/log_repair.h"

static void print_result(const struct log_repair *repair)
{
    if (!repair->cut && repair->lost_segments == 0) {
        (void)printf("Nothing is wrong: %llu records, up to position %llu.\n",
                     (unsigned long long)repair->records, (unsigned long long)repair->position);
        return;
    }
    (void)printf("It was: %s\n", repair->reason);
    (void)printf("The log now ends at position %llu, after %llu records.\n",
                 (unsigned long long)repair->position, (unsigned long long)repair->records);
    if (repair->cut) {
        (void)printf("It had been synced at least up to position %llu: what was acknowledged "
                     "between and not yet flushed is lost.\n",
                     (unsigned long long)repair->proven_position);
    }
    if (repair->lost_segments > 0) {
        (void)printf("%llu segments were put aside as lost-*.log.\n",
                     (unsigned long long)repair->lost_segments);
    }
}

int main(int argument_count, char **arguments)
{
    struct log_repair repair;
    struct error error = {.status = STATUS_OK};
    if (argument_count != 2 || arguments[1][0] == '-') {
        (void)fprintf(stderr, "usage: edubba-repair-log <folder of the log>\n"
                              "Cuts a damaged log where the damage begins.  Copy it first.\n");
        return 2;
    }
    if (log_repair(arguments[1], NULL, &repair, &error) != STATUS_OK) {
        (void)fprintf(stderr, "edubba-repair-log: %s\n", error.text);
        return 1;
    }
    print_result(&repair);
    return 0;
}

/* Tablets whose members are all lost: what there is of them, and choosing a copy by hand. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/heard_again.h"
#include "client/cli/output.h"

/* --- showing ------------------------------------------------------------------------------------ */

static const char *copy_state(const struct edubba_copy *copy)
{
    if (!copy->is_alive) {
        return copy->is_held ? "its server is gone" : "not heard of";
    }
    if (!copy->is_held) {
        return "its server does not have it";
    }
    return copy->is_empty ? "nothing that counts" : copy->is_damaged ? "damaged" : "whole";
}

static const char *heard_text(int64_t heard_us, char *text, size_t size)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t ago = (int64_t)now.tv_sec - heard_us / 1000000;
    (void)snprintf(text, size, "%" PRId64 " s ago", ago > 0 ? ago : 0);
    return heard_us == 0 ? "never" : text;
}

static void print_copies(FILE *out, const struct edubba_lost_tablet *tablet)
{
    fprintf(out, "  %-28s %-20s %-8s %10s %-12s %s\n", "ADDRESS", "STORE", "VERSION", "COMMITTED",
            "HEARD", "STATE");
    for (size_t i = 0; i < tablet->copy_count; i++) {
        const struct edubba_copy *copy = &tablet->copies[i];
        char heard[32];
        fprintf(out, "  %-28s %-20" PRIu64 " %-8" PRIu64 " %10" PRIu64 " %-12s %s, %s\n",
                copy->address, copy->store, copy->version, copy->committed,
                heard_text(copy->heard_us, heard, sizeof heard),
                copy->is_member ? "member" : "does not count", copy_state(copy));
    }
}

static void print_tablet(FILE *out, const struct edubba_lost_tablet *tablet)
{
    fprintf(out, "tablet %" PRIu64 " of %s, ", tablet->number, tablet->table);
    print_range(out, tablet->start, tablet->end);
    fprintf(out, ", version %" PRIu64 ": %s\n", tablet->version,
            tablet->why[0] != '\0' ? tablet->why : "nothing is lost");
    if (tablet->recovered_us != 0) {
        char when[32];
        fprintf(out, "  recovered before, %s, by %s\n",
                heard_text(tablet->recovered_us, when, sizeof when), tablet->recovered_by);
    }
    print_copies(out, tablet);
}

static void print_json_copy(FILE *out, const struct edubba_copy *copy)
{
    fprintf(out,
            "{\"server\":\"%" PRIu64 "\",\"store\":\"%" PRIu64
            "\",\"address\":\"%s\",\"version\":%" PRIu64 ",\"committed\":%" PRIu64
            ",\"heard_us\":%" PRId64 ",\"member\":%s,\"state\":\"%s\"}",
            copy->server, copy->store, copy->address, copy->version, copy->committed,
            copy->heard_us, copy->is_member ? "true" : "false", copy_state(copy));
}

static void print_json_tablet(FILE *out, const struct edubba_lost_tablet *tablet)
{
    fprintf(out, "{\"tablet\":\"%" PRIu64 "\",\"table\":", tablet->number);
    print_json_text(out, tablet->table);
    fputc(',', out);
    print_json_range(out, tablet->start, tablet->end);
    fprintf(out, ",\"version\":%" PRIu64 ",\"lost\":%s,\"why\":", tablet->version,
            tablet->why[0] != '\0' ? "true" : "false");
    print_json_text(out, tablet->why);
    fprintf(out, ",\"recovered_us\":%" PRId64 ",\"recovered_by\":", tablet->recovered_us);
    print_json_text(out, tablet->recovered_by);
    fputs(",\"copies\":[", out);
    for (size_t i = 0; i < tablet->copy_count; i++) {
        fputs(i == 0 ? "" : ",", out);
        print_json_copy(out, &tablet->copies[i]);
    }
    fputs("]}\n", out);
}

static void print_all(const struct session *session, const struct lost_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (session->json) {
            print_json_tablet(session->out, &list->tablets[i]);
        } else {
            print_tablet(session->out, &list->tablets[i]);
        }
    }
    if (!session->json && list->count == 0) {
        fputs("no tablet is lost\n", session->out);
    } else if (!session->json && list->more) {
        fputs("and more: they are listed when these are recovered\n", session->out);
    }
}

/* --- choosing ----------------------------------------------------------------------------------- */

/* Who is it, for the record. */
static void say_who(char *who, size_t size)
{
    char host[32] = "?";
    const char *user = getenv("SUDO_USER");
    user = user != NULL ? user : getenv("USER");
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(who, size, "%.24s at %.31s", user != NULL ? user : "somebody", host);
}

static int recover_one(struct session *session,
                       const struct edubba_lost_tablet *tablet,
                       uint64_t store)
{
    struct edubba_error error;
    uint64_t chosen = 0;
    char who[EDUBBA_WHO_BYTES_MAX + 1];
    say_who(who, sizeof who);
    if (edubba_recover_tablet(session->client, tablet->number, store, who, &chosen, &error) !=
        EDUBBA_OK) {
        return session_fail(session, &error);
    }
    fprintf(session->out,
            session->json ? "{\"tablet\":\"%" PRIu64 "\",\"store\":\"%" PRIu64 "\"}\n"
                          : "tablet %" PRIu64 " is what store %" PRIu64 " has of it\n",
            tablet->number, chosen);
    return EXIT_CODE_OK;
}

/* Each by itself: what is refused of one is no reason not to have the others.  Of very many only the
 * first are listed: whoever has recovered these has to know that they are not all. */
static int recover_all(struct session *session, const struct lost_list *list, uint64_t store)
{
    int code = EXIT_CODE_OK;
    for (size_t i = 0; i < list->count; i++) {
        int one = recover_one(session, &list->tablets[i], store);
        code = one == EXIT_CODE_OK ? code : one;
    }
    if (list->count == 0 && !session->json) {
        fputs("no tablet is lost\n", session->out);
    }
    if (list->more) {
        session_warn(session, "more tablets than these %zu are lost: order it again for the others",
                     list->count);
    }
    return code;
}

/* --- the command -------------------------------------------------------------------------------- */

static bool is_number(const char *word, uint64_t *ret_number)
{
    char *end = NULL;
    *ret_number = strtoull(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && *end == '\0' && *ret_number != 0;
}

/* What is ordered, from the command line.  Returns an exit code, or -1: the order makes sense. */
static int read_order(struct session *session, struct recover_order *ret_order)
{
    struct recover_order order = {.table = ""};
    bool named = false;
    for (int i = 0; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (strcmp(word, "--accept-data-loss") == 0) {
            order.accepts = true;
        } else if (strncmp(word, "--store=", 8) == 0) {
            if (!is_number(word + 8, &order.store)) {
                return session_misuse(session, "'%s': a store's number is wanted", word);
            }
        } else if (word[0] == '-' || named) {
            return session_misuse(session, "'%s' is neither --accept-data-loss nor --store=STORE",
                                  word);
        } else {
            named = true;
            order.table = is_number(word, &order.tablet) ? "" : word;
        }
    }
    if (order.accepts && !named) {
        return session_misuse(session, "--accept-data-loss: of which TABLET or TABLE?");
    }
    if (order.store != 0 && (!order.accepts || order.tablet == 0)) {
        return session_misuse(session, "--store is for one TABLET, with --accept-data-loss");
    }
    *ret_order = order;
    return -1;
}

int run_recover(struct session *session)
{
    struct recover_order order = {.table = ""};
    struct lost_list list = {0};
    struct edubba_error error;
    int code = session_refuse_repeated(session, 0);
    if (code < 0) {
        code = read_order(session, &order);
    }
    if (code >= 0) {
        return code;
    }
    if (!order.accepts) {
        session_only_looks(session);
    }
    if (session_client(session) == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code listed = list_lost(session, &order, &list, &error);
    if (listed == EDUBBA_OK && order.accepts) {
        listed = wait_heard_again(session, &order, &list, &error);
    }
    if (listed != EDUBBA_OK) {
        code = session_fail(session, &error);
    } else if (order.accepts) {
        code = recover_all(session, &list, order.store);
    } else {
        print_all(session, &list);
        code = EXIT_CODE_OK;
    }
    edubba_free(list.tablets);
    return code;
}

#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"

#define FAMILIES_MAX 100
#define SPLITS_MAX   1000

struct families {
    struct edubba_family items[FAMILIES_MAX];
    struct edubba_gc_rule *rules[FAMILIES_MAX];
    size_t count;
};

static void families_free(struct families *families)
{
    for (size_t i = 0; i < families->count; i++) {
        edubba_gc_rule_free(families->rules[i]);
    }
}

static bool parse_families(char *list, struct families *families, struct edubba_error *error)
{
    for (char *word = word_next(&list); word != NULL; word = word_next(&list)) {
        if (families->count == FAMILIES_MAX) {
            error->code = EDUBBA_INVALID_ARGUMENT;
            (void)snprintf(error->text, sizeof error->text, "more than %d families", FAMILIES_MAX);
            return false;
        }
        size_t at = families->count;
        if (!word_family_parse(word, &families->items[at], &families->rules[at], error)) {
            return false;
        }
        families->count += 1;
    }
    return true;
}

int run_createtable(struct session *session)
{
    static struct families families;
    static struct edubba_bytes splits[SPLITS_MAX];
    struct edubba_schema schema = {.name = session->arguments[0]};
    struct edubba_error error;
    size_t split_count = 0;

    int code = session_refuse_repeated(session, 1);
    if (code >= 0) {
        return code;
    }
    for (int i = 1; i < session->argument_count; i++) {
        char *word = session->arguments[i];
        if (word_value(word, "families") != NULL) {
            if (!parse_families(word + strlen("families="), &families, &error)) {
                families_free(&families);
                return session_misuse(session, "%s", error.text);
            }
        } else if (word_value(word, "splits") != NULL) {
            char *list = word + strlen("splits=");
            for (char *key = word_next(&list); key != NULL; key = word_next(&list)) {
                if (split_count == SPLITS_MAX) {
                    families_free(&families);
                    return session_misuse(session, "more than %d splits", SPLITS_MAX);
                }
                code = session_key(session, key, &splits[split_count++]);
                if (code >= 0) {
                    families_free(&families);
                    return code;
                }
            }
        } else if (word_value(word, "pinned") != NULL) {
            if (!word_bool(word_value(word, "pinned"), &schema.pinned)) {
                families_free(&families);
                return session_misuse(session, "'%s' is neither pinned=true nor pinned=false",
                                      word);
            }
        } else {
            code = word_replication(session, word, &schema.replicas, &schema.min_in_sync);
            if (code != EXIT_CODE_OK) {
                families_free(&families);
                return code > 0 ? code
                                : session_misuse(session,
                                                 "'%s' is none of families=, splits=, replicas=, "
                                                 "min-in-sync= and pinned=",
                                                 word);
            }
        }
    }
    schema.families = families.items;
    schema.family_count = families.count;
    struct edubba_client *client = session_client(session);
    code = EXIT_CODE_FAILED;
    if (client != NULL) {
        bool made = edubba_create_table(client, &schema, splits, split_count, &error) == EDUBBA_OK;
        if (made) {
            warn_of_brittleness(session, schema.name);
        }
        code = made ? session_done(session) : session_fail(session, &error);
    }
    families_free(&families);
    return code;
}

int run_deletetable(struct session *session)
{
    struct edubba_client *client = session_client(session);
    struct edubba_error error;
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    return edubba_delete_table(client, session->arguments[0], &error) == EDUBBA_OK
               ? session_done(session)
               : session_fail(session, &error);
}

static int list_tables(struct session *session)
{
    struct edubba_client *client = session_client(session);
    struct edubba_error error;
    char **names = NULL;

    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_list_tables(client, &names, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        if (session->json) {
            fputs("{\"table\":", session->out);
            print_json_text(session->out, names[i]);
            fputs("}\n", session->out);
        } else {
            fprintf(session->out, "%s\n", names[i]);
        }
    }
    edubba_free(names);
    return EXIT_CODE_OK;
}

static void print_families(struct session *session, const struct edubba_schema *schema)
{
    if (!session->json) {
        fprintf(session->out, "%-20s %-40s %s\n", "Family Name", "GC Policy", "Value Type");
        fprintf(session->out, "%-20s %-40s %s\n", "-----------", "---------", "----------");
    }
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct edubba_family *family = &schema->families[i];
        char *rule = edubba_gc_rule_format(&family->gc);
        const char *rule_text = rule != NULL ? rule : "?";
        const char *type = aggregate_text(family->aggregate);
        if (session->json) {
            fputs("{\"family\":", session->out);
            print_json_text(session->out, family->name);
            fputs(",\"gc\":", session->out);
            print_json_text(session->out, rule_text);
            fputs(",\"type\":", session->out);
            print_json_text(session->out, type);
            fputs("}\n", session->out);
        } else {
            fprintf(session->out, "%-20s %-40s %s\n", family->name, rule_text, type);
        }
        edubba_free(rule);
    }
}

static void print_replication(const struct session *session, const struct edubba_schema *schema)
{
    if (session->json) {
        fputs("{\"table\":", session->out);
        print_json_text(session->out, schema->name);
        fprintf(session->out,
                ",\"replicas\":%u,\"min_in_sync\":%u,\"tablets\":%u,\"protected\":%s,"
                "\"pinned\":%s}\n",
                schema->replicas, schema->min_in_sync, schema->tablet_count,
                schema->deletion_protection ? "true" : "false", schema->pinned ? "true" : "false");
    } else {
        fprintf(session->out, "\n%u tablet%s, %u replica%s each, at least %u in sync%s%s\n",
                schema->tablet_count, schema->tablet_count == 1 ? "" : "s", schema->replicas,
                schema->replicas == 1 ? "" : "s", schema->min_in_sync,
                schema->deletion_protection ? ", protected from deletion" : "",
                schema->pinned ? ", pinned" : "");
    }
}

int run_ls(struct session *session)
{
    session_only_looks(session);
    struct edubba_schema *schema = NULL;
    struct edubba_error error;

    if (session->argument_count == 0) {
        return list_tables(session);
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_get_table(client, session->arguments[0], &schema, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    print_families(session, schema);
    print_replication(session, schema);
    edubba_schema_free(schema);
    return EXIT_CODE_OK;
}

static int alter(struct session *session, const struct edubba_alteration *alteration)
{
    struct edubba_client *client = session_client(session);
    struct edubba_error error;
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    return edubba_alter_table(client, session->arguments[0], alteration, 1, &error) == EDUBBA_OK
               ? session_done(session)
               : session_fail(session, &error);
}

int run_createfamily(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_CREATE_FAMILY};
    struct edubba_gc_rule *rule = NULL;
    struct edubba_error error;

    if (!word_family_parse(session->arguments[1], &alteration.family, &rule, &error)) {
        return session_misuse(session, "%s", error.text);
    }
    int code = alter(session, &alteration);
    edubba_gc_rule_free(rule);
    return code;
}

int run_deletefamily(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_DROP_FAMILY,
                                           .family = {.name = session->arguments[1]}};
    return alter(session, &alteration);
}

int run_setgcpolicy(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_SET_GC_RULE,
                                           .family = {.name = session->arguments[1]}};
    struct edubba_gc_rule *rule = NULL;
    struct edubba_error error;
    char text[512] = "";
    size_t used = 0;

    for (int i = 2; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (strcmp(word, "force") == 0 && i == session->argument_count - 1) {
            break; /* cbt's word for "although it is replicated": nothing to force here */
        }
        int length = snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "", word);
        if (length < 0 || (size_t)length >= sizeof text - used) {
            return session_misuse(session, "the rule is longer than 500 bytes");
        }
        used += (size_t)length;
    }
    if (used == 0) {
        return session_misuse(session, "which rule?  never is one that keeps everything");
    }
    if (!word_rule_parse(text, &rule, &error)) {
        return session_misuse(session, "%s", error.text);
    }
    alteration.family.gc = *rule;
    int code = alter(session, &alteration);
    edubba_gc_rule_free(rule);
    return code;
}

int run_pin(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_SET_PINNED};
    const char *word = session->arguments[1];

    if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0) {
        return session_misuse(session, "'%s' is neither on nor off", word);
    }
    alteration.flag = strcmp(word, "on") == 0;
    return alter(session, &alteration);
}

int run_protect(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_SET_PROTECTION};
    const char *word = session->arguments[1];

    if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0) {
        return session_misuse(session, "'%s' is neither on nor off", word);
    }
    alteration.flag = strcmp(word, "on") == 0;
    return alter(session, &alteration);
}

#include "gateway/methods/call/profiles.h"

#include <pthread.h>
#include <string.h>

#include "admin.pb-c.h"
#include "client/include/edubba_documents.h"
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "gateway/core/resource_name.h"
#include "gateway/rpc/message.h"

#define SET_COUNT         64
#define SET_SIZE          4
#define ARENA_BLOCK_BYTES 1024

#define ROUTING(kind) GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_##kind

typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;

struct answer {
    char document[RESOURCE_DOCUMENT_BYTES_MAX]; /* empty = nothing */
    enum profile_state state;                   /* of one that was asked for */
    int64_t until_ns;                           /* it is believed until then */
};

/* Answers lie in the set of their name; a new one takes the place of the oldest. */
struct profiles {
    pthread_mutex_t lock;
    uint64_t forgotten; /* how often; all under lock */
    struct answer sets[SET_COUNT][SET_SIZE];
};

struct profiles *profiles_create(void)
{
    struct profiles *profiles = memory_allocate_zeroed(1, sizeof *profiles);
    if (profiles != NULL) {
        ASSERT(pthread_mutex_init(&profiles->lock, NULL) == 0);
    }
    return profiles;
}

void profiles_destroy(struct profiles *profiles)
{
    if (profiles != NULL) {
        ASSERT(pthread_mutex_destroy(&profiles->lock) == 0);
        memory_free(profiles);
    }
}

/* --- under lock ------------------------------------------------------------------------------- */

static struct answer *set_of(struct profiles *profiles, const char *document)
{
    return profiles->sets[checksum64(document, strlen(document), 0) % SET_COUNT];
}

/* NULL when there is none. */
static struct answer *find(struct profiles *profiles, const char *document)
{
    struct answer *set = set_of(profiles, document);
    for (size_t i = 0; i < SET_SIZE; i++) {
        if (strcmp(set[i].document, document) == 0) {
            return &set[i];
        }
    }
    return NULL;
}

static void keep(struct profiles *profiles,
                 const char *document,
                 enum profile_state state,
                 int64_t until_ns)
{
    struct answer *answer = find(profiles, document);
    if (answer == NULL) {
        struct answer *set = set_of(profiles, document);
        answer = &set[0];
        for (size_t i = 1; i < SET_SIZE; i++) {
            answer = set[i].until_ns < answer->until_ns ? &set[i] : answer;
        }
        memcpy(answer->document, document, strlen(document) + 1);
    }
    answer->state = state;
    answer->until_ns = until_ns;
}

/* --- looking ---------------------------------------------------------------------------------- */

static enum profile_state state_of(struct answer *answer, int64_t now_ns)
{
    if (answer == NULL) {
        return PROFILE_MUST_BE_ASKED;
    }
    if (now_ns < answer->until_ns) {
        return answer->state;
    }
    if (answer->state !=
        PROFILE_IS_MISSING) { /* for others, while this one asks: it may go before it has asked */
        answer->until_ns = now_ns + PROFILES_RENEWAL_NS;
    }
    return PROFILE_MUST_BE_ASKED;
}

enum profile_state profiles_look(struct profiles *profiles, const char *document, int64_t now_ns)
{
    (void)pthread_mutex_lock(&profiles->lock);
    enum profile_state state = state_of(find(profiles, document), now_ns);
    (void)pthread_mutex_unlock(&profiles->lock);
    return state;
}

void profiles_forget(struct profiles *profiles)
{
    (void)pthread_mutex_lock(&profiles->lock);
    memset(profiles->sets, 0, sizeof profiles->sets);
    profiles->forgotten++;
    (void)pthread_mutex_unlock(&profiles->lock);
}

/* --- asking ----------------------------------------------------------------------------------- */

static uint64_t count_forgotten(struct profiles *profiles)
{
    (void)pthread_mutex_lock(&profiles->lock);
    uint64_t forgotten = profiles->forgotten;
    (void)pthread_mutex_unlock(&profiles->lock);
    return forgotten;
}

/* Where nobody could say: as it was, or else there, until it may be asked again soon. */
static enum profile_state keep_answer(struct profiles *profiles,
                                      const char *document,
                                      enum edubba_code code,
                                      enum profile_state state)
{
    bool is_known = code == EDUBBA_OK || code == EDUBBA_NOT_FOUND;
    int64_t age_ns = code == EDUBBA_OK ? PROFILES_THERE_NS : PROFILES_MISSING_NS;
    const struct answer *before = find(profiles, document);
    if (!is_known && before != NULL) {
        state = before->state;
    }
    keep(profiles, document, state, clock_monotonic_ns() + age_ns);
    return state;
}

static bool forbids_transactions(const AppProfile *profile)
{
    return profile->routing_policy_case == ROUTING(MULTI_CLUSTER_ROUTING_USE_ANY) ||
           (profile->routing_policy_case == ROUTING(SINGLE_CLUSTER_ROUTING) &&
            !profile->single_cluster_routing->allow_transactional_writes);
}

/* Of a document that is there; one that cannot be read forbids nothing. */
static enum profile_state read_document(struct edubba_bytes content)
{
    ProtobufCMessage *message = NULL;
    enum profile_state state = PROFILE_IS_THERE;
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX); /* bounded by the document's size */
    if (message_decode_kept(&google__bigtable__admin__v2__app_profile__descriptor,
                            bytes_of(content.data, content.size), &arena, &message,
                            NULL) == STATUS_OK &&
        forbids_transactions((const AppProfile *)message)) {
        state = PROFILE_FORBIDS_TRANSACTIONS;
    }
    arena_deinit(&arena);
    return state;
}

enum profile_state profiles_ask(struct profiles *profiles,
                                struct edubba_client *client,
                                const char *document)
{
    struct edubba_document *found = NULL;
    uint64_t forgotten = count_forgotten(profiles);
    enum edubba_code code = edubba_get_document(client, EDUBBA_TEXT(document), &found, NULL);
    enum profile_state state = code == EDUBBA_NOT_FOUND ? PROFILE_IS_MISSING : PROFILE_IS_THERE;
    if (code == EDUBBA_OK) {
        state = read_document(found->content);
        edubba_free(found);
    }
    (void)pthread_mutex_lock(&profiles->lock);
    if (forgotten == profiles->forgotten) { /* else it may be from before that */
        state = keep_answer(profiles, document, code, state);
    }
    (void)pthread_mutex_unlock(&profiles->lock);
    return state;
}

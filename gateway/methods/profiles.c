#include "gateway/methods/profiles.h"

#include <pthread.h>
#include <string.h>

#include "client/include/edubba_documents.h"
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "gateway/core/resource_name.h"

#define SET_COUNT 64
#define SET_SIZE  4

struct answer {
    char document[RESOURCE_DOCUMENT_BYTES_MAX]; /* empty = nothing */
    bool is_there;
    int64_t until_ns; /* it is believed until then */
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

static void keep(struct profiles *profiles, const char *document, bool is_there, int64_t until_ns)
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
    answer->is_there = is_there;
    answer->until_ns = until_ns;
}

/* --- looking ---------------------------------------------------------------------------------- */

static enum profile_state state_of(struct answer *answer, int64_t now_ns)
{
    if (answer == NULL) {
        return PROFILE_MUST_BE_ASKED;
    }
    if (now_ns < answer->until_ns) {
        return answer->is_there ? PROFILE_IS_THERE : PROFILE_IS_MISSING;
    }
    if (answer->is_there) { /* for others, while this one asks: it may go before it has asked */
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
                                      enum edubba_code code)
{
    bool is_known = code == EDUBBA_OK || code == EDUBBA_NOT_FOUND;
    bool is_there = code != EDUBBA_NOT_FOUND;
    int64_t age_ns = is_known && is_there ? PROFILES_THERE_NS : PROFILES_MISSING_NS;
    const struct answer *before = find(profiles, document);
    if (!is_known && before != NULL) {
        is_there = before->is_there;
    }
    keep(profiles, document, is_there, clock_monotonic_ns() + age_ns);
    return is_there ? PROFILE_IS_THERE : PROFILE_IS_MISSING;
}

enum profile_state profiles_ask(struct profiles *profiles,
                                struct edubba_client *client,
                                const char *document)
{
    struct edubba_document *found = NULL;
    uint64_t forgotten = count_forgotten(profiles);
    enum edubba_code code = edubba_get_document(client, EDUBBA_TEXT(document), &found, NULL);
    if (code == EDUBBA_OK) {
        edubba_free(found);
    }
    (void)pthread_mutex_lock(&profiles->lock);
    enum profile_state state = code == EDUBBA_NOT_FOUND ? PROFILE_IS_MISSING : PROFILE_IS_THERE;
    if (forgotten == profiles->forgotten) { /* else it may be from before that */
        state = keep_answer(profiles, document, code);
    }
    (void)pthread_mutex_unlock(&profiles->lock);
    return state;
}

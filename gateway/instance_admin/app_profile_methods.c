/* CreateAppProfile, GetAppProfile, ListAppProfiles, UpdateAppProfile, DeleteAppProfile. */
#include <string.h>

#include "gateway/instance_admin/app_profiles.h"
#include "gateway/instance_admin/field_mask.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"
#include "gateway/instance_admin/readers.h"
#include "gateway/operations/operation.h"

typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__StandardIsolation StandardIsolation;
typedef Google__Bigtable__Admin__V2__CreateAppProfileRequest CreateAppProfileRequest;
typedef Google__Bigtable__Admin__V2__GetAppProfileRequest GetAppProfileRequest;
typedef Google__Bigtable__Admin__V2__ListAppProfilesRequest ListAppProfilesRequest;
typedef Google__Bigtable__Admin__V2__ListAppProfilesResponse ListAppProfilesResponse;
typedef Google__Bigtable__Admin__V2__UpdateAppProfileRequest UpdateAppProfileRequest;
typedef Google__Bigtable__Admin__V2__UpdateAppProfileMetadata UpdateAppProfileMetadata;
typedef Google__Bigtable__Admin__V2__DeleteAppProfileRequest DeleteAppProfileRequest;

/* Together with the instance that was read before; kept without its etag. */
static enum edubba_code put_profile(struct admin_call *call,
                                    const struct resource_name *name,
                                    const struct record *instance,
                                    AppProfile *profile,
                                    uint64_t expected)
{
    static char none[] = "";
    const struct record_change change = {*name, &profile->base, expected};
    uint64_t version = 0;
    profile->etag = none;
    enum edubba_code code = instances_put_children(call, instance, &change, 1, &version);
    profiles_forget(call->gateway->profiles);
    if (code == EDUBBA_OK && !app_profiles_show(call, profile, version)) {
        return admin_call_no_memory(call);
    }
    return code;
}

/* --- create ----------------------------------------------------------------------------------- */

static enum edubba_code read_create(struct admin_call *call,
                                    const CreateAppProfileRequest *request,
                                    struct resource_name *ret_name)
{
    struct error error = {.status = STATUS_OK};
    struct record instance = {NULL, 0};
    enum edubba_code code = record_name(call, request->parent, RESOURCE_INSTANCE, ret_name);
    if (code == EDUBBA_OK) {
        ret_name->kind = RESOURCE_APP_PROFILE;
        ret_name->id = bytes_of_text(request->app_profile_id);
        code = admin_call_check(call, resource_id_check(RESOURCE_APP_PROFILE, ret_name->id, &error),
                                &error);
    }
    if (code == EDUBBA_OK && request->app_profile == NULL) {
        code = admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'app_profile' : it is required");
    }
    return code == EDUBBA_OK ? instances_get(call, ret_name, &instance) : code;
}

/* A copy of the wanted one with its name and isolation; NULL without memory. */
static AppProfile *make_profile(struct admin_call *call,
                                const struct resource_name *name,
                                const AppProfile *wanted)
{
    AppProfile *profile = arena_allocate(call->arena, sizeof *profile);
    StandardIsolation *isolation = arena_allocate(call->arena, sizeof *isolation);
    char *text = record_full_name(call, name);
    if (profile == NULL || isolation == NULL || text == NULL) {
        return NULL;
    }
    *profile = *wanted;
    profile->name = text;
    if (profile->isolation_case == GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ISOLATION__NOT_SET) {
        google__bigtable__admin__v2__app_profile__standard_isolation__init(isolation);
        isolation->priority = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__PRIORITY__PRIORITY_HIGH;
        profile->isolation_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ISOLATION_STANDARD_ISOLATION;
        profile->standard_isolation = isolation;
    }
    return profile;
}

/* Over the instance as it is now.  Errors: EDUBBA_ABORTED (it has changed meanwhile). */
static enum edubba_code try_create(struct admin_call *call,
                                   const struct resource_name *name,
                                   bool ignores_warnings,
                                   AppProfile *profile)
{
    struct record instance = {NULL, 0};
    struct record present = {NULL, 0};
    enum edubba_code code = instances_get(call, name, &instance);
    if (code == EDUBBA_OK) {
        code = app_profiles_check(call, name, profile);
    }
    if (code == EDUBBA_OK) {
        code = record_find(call, name, &present);
    }
    if (code == EDUBBA_OK && present.message != NULL) {
        return admin_call_fail(call, EDUBBA_ALREADY_EXISTS, "App profile already exists: %s",
                               profile->name);
    }
    if (code == EDUBBA_OK && !ignores_warnings) {
        code = app_profiles_warn(call, name, NULL, profile);
    }
    return code == EDUBBA_OK ? put_profile(call, name, &instance, profile, 0) : code;
}

static enum edubba_code create_app_profile(struct admin_call *call,
                                           const ProtobufCMessage **ret_answer)
{
    const CreateAppProfileRequest *request = (const CreateAppProfileRequest *)call->request;
    struct resource_name name;
    enum edubba_code code = read_create(call, request, &name);
    if (code != EDUBBA_OK) {
        return code;
    }
    AppProfile *profile = make_profile(call, &name, request->app_profile);
    if (profile == NULL) {
        return admin_call_no_memory(call);
    }
    bool again = true;
    for (int i = 0; i < RECORD_ATTEMPTS && again; i++) {
        code = try_create(call, &name, request->ignore_warnings, profile);
        again = code == EDUBBA_ABORTED;
    }
    if (code == EDUBBA_OK) {
        *ret_answer = &profile->base;
    }
    return code;
}

void instance_admin_create_app_profile(void *context,
                                       struct rpc_call *call,
                                       const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, create_app_profile);
}

/* --- get and list ----------------------------------------------------------------------------- */

static enum edubba_code get_app_profile(struct admin_call *call,
                                        const ProtobufCMessage **ret_answer)
{
    const GetAppProfileRequest *request = (const GetAppProfileRequest *)call->request;
    return instance_admin_read_app_profile(call, request->name, ret_answer);
}

void instance_admin_get_app_profile(void *context,
                                    struct rpc_call *call,
                                    const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, get_app_profile);
}

static enum edubba_code answer_list(struct admin_call *call,
                                    const struct record_list *list,
                                    const ProtobufCMessage **ret_answer)
{
    ListAppProfilesResponse *response = arena_allocate(call->arena, sizeof *response);
    AppProfile **profiles = arena_allocate_array(call->arena, list->count + 1, sizeof *profiles);
    bool is_good = response != NULL && profiles != NULL;
    for (size_t i = 0; i < list->count && is_good; i++) {
        profiles[i] = (AppProfile *)list->records[i].message;
        is_good = app_profiles_show(call, profiles[i], list->records[i].version);
    }
    if (!is_good) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_app_profiles_response__init(response);
    response->app_profiles = profiles;
    response->n_app_profiles = list->count;
    if (list->next != NULL) {
        response->next_page_token = list->next;
    }
    *ret_answer = &response->base;
    return EDUBBA_OK;
}

static enum edubba_code list_app_profiles(struct admin_call *call,
                                          const ProtobufCMessage **ret_answer)
{
    const ListAppProfilesRequest *request = (const ListAppProfilesRequest *)call->request;
    struct resource_name parent;
    struct record_list list = {NULL, 0, NULL};
    enum edubba_code code = record_name(call, request->parent, RESOURCE_INSTANCE, &parent);
    if (code == EDUBBA_OK && request->page_size < 0) {
        code = admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'page_size' : it cannot be negative");
    }
    if (code == EDUBBA_OK) {
        const struct record_page page = {request->page_token, (uint32_t)request->page_size};
        code = instances_list_children(call, RESOURCE_APP_PROFILE, &parent, page, &list);
    }
    return code == EDUBBA_OK ? answer_list(call, &list, ret_answer) : code;
}

void instance_admin_list_app_profiles(void *context,
                                      struct rpc_call *call,
                                      const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, list_app_profiles);
}

/* --- update ----------------------------------------------------------------------------------- */

static enum edubba_code check_mask(struct admin_call *call, const UpdateAppProfileRequest *request)
{
    if (request->app_profile == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'app_profile' : it is required");
    }
    if (request->update_mask == NULL || request->update_mask->n_paths == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'update_mask' : it names nothing");
    }
    for (size_t i = 0; i < request->update_mask->n_paths; i++) {
        const char *path = request->update_mask->paths[i];
        if (strcmp(path, "name") == 0) {
            return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                                   "Error in field 'update_mask' : '%s' of an app profile cannot "
                                   "be changed",
                                   path);
        }
    }
    return EDUBBA_OK;
}

/* The fields of the mask, over the profile that is there; "etag" is looked at, never written. */
static enum edubba_code apply_mask(struct admin_call *call,
                                   const UpdateAppProfileRequest *request,
                                   AppProfile *profile)
{
    enum edubba_code code = EDUBBA_OK;
    for (size_t i = 0; i < request->update_mask->n_paths && code == EDUBBA_OK; i++) {
        struct error error = {.status = STATUS_OK};
        struct bytes path = bytes_of_text(request->update_mask->paths[i]);
        if (!bytes_equal(path, bytes_of_text("etag"))) {
            code = admin_call_check(call,
                                    field_mask_apply(path, &request->app_profile->base,
                                                     &profile->base, call->arena, &error),
                                    &error);
        }
    }
    return code;
}

static enum edubba_code check_etag(struct admin_call *call,
                                   const AppProfile *wanted,
                                   const AppProfile *present)
{
    if (wanted->etag[0] != '\0' && strcmp(wanted->etag, present->etag) != 0) {
        return admin_call_fail(call, EDUBBA_ABORTED,
                               "The app profile has etag '%s' by now, not '%.40s': read it again",
                               present->etag, wanted->etag);
    }
    return EDUBBA_OK;
}

/* Once.  *ret_again: somebody else was faster, and the caller has not said what it expects. */
static enum edubba_code try_update(struct admin_call *call,
                                   const UpdateAppProfileRequest *request,
                                   const struct resource_name *name,
                                   AppProfile **ret_profile,
                                   bool *ret_again)
{
    struct record instance = {NULL, 0};
    struct record before = {NULL, 0};
    struct record after = {NULL, 0};
    enum edubba_code code = instances_get(call, name, &instance);
    if (code == EDUBBA_OK) {
        code = record_get(call, name, &before);
    }
    if (code == EDUBBA_OK) {
        code = record_get(call, name, &after); /* a second copy, to be changed */
    }
    if (code == EDUBBA_OK && !app_profiles_show(call, (AppProfile *)after.message, after.version)) {
        code = admin_call_no_memory(call);
    }
    AppProfile *profile = (AppProfile *)after.message;
    if (code == EDUBBA_OK) {
        code = check_etag(call, request->app_profile, profile);
    }
    if (code == EDUBBA_OK) {
        code = apply_mask(call, request, profile);
    }
    if (code == EDUBBA_OK) {
        code = app_profiles_check(call, name, profile);
    }
    if (code == EDUBBA_OK && !request->ignore_warnings) {
        code = app_profiles_warn(call, name, (const AppProfile *)before.message, profile);
    }
    if (code == EDUBBA_OK) {
        code = put_profile(call, name, &instance, profile, before.version);
        *ret_again = code == EDUBBA_ABORTED;
        *ret_profile = profile;
    }
    return code;
}

static enum edubba_code update_app_profile(struct admin_call *call,
                                           const ProtobufCMessage **ret_answer)
{
    const UpdateAppProfileRequest *request = (const UpdateAppProfileRequest *)call->request;
    UpdateAppProfileMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_APP_PROFILE_METADATA__INIT;
    struct resource_name name;
    AppProfile *profile = NULL;
    enum edubba_code code = check_mask(call, request);
    if (code == EDUBBA_OK) {
        code = record_name(call, request->app_profile->name, RESOURCE_APP_PROFILE, &name);
    }
    bool again = code == EDUBBA_OK;
    for (int attempt = 0; attempt < RECORD_ATTEMPTS && again; attempt++) {
        again = false;
        code = try_update(call, request, &name, &profile, &again);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    return operation_done(call, profile->name, &metadata.base, &profile->base, ret_answer);
}

void instance_admin_update_app_profile(void *context,
                                       struct rpc_call *call,
                                       const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, update_app_profile);
}

/* --- delete ----------------------------------------------------------------------------------- */

static enum edubba_code delete_app_profile(struct admin_call *call,
                                           const ProtobufCMessage **ret_answer)
{
    const DeleteAppProfileRequest *request = (const DeleteAppProfileRequest *)call->request;
    enum edubba_code code = instances_delete_child(call, request->name, RESOURCE_APP_PROFILE, NULL,
                                                   ret_answer);
    profiles_forget(call->gateway->profiles);
    return code;
}

void instance_admin_delete_app_profile(void *context,
                                       struct rpc_call *call,
                                       const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, delete_app_profile);
}

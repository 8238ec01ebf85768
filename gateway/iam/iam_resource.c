#include "gateway/iam/iam_resource.h"

#include <string.h>

#include "gateway/instance_admin/instances.h"

/* Collections below a table, an instance or a cluster that are not served. */
static bool is_not_served(const char *resource)
{
    return strstr(resource, "/backups/") != NULL || strstr(resource, "/authorizedViews/") != NULL ||
           strstr(resource, "/schemaBundles/") != NULL ||
           strstr(resource, "/logicalViews/") != NULL ||
           strstr(resource, "/materializedViews/") != NULL;
}

static bool is_a(const char *resource, enum resource_kind kind, struct resource_name *ret_name)
{
    return resource_name_parse(bytes_of_text(resource), kind, ret_name, NULL) == STATUS_OK;
}

static enum edubba_code check_table(struct admin_call *call, const char *resource)
{
    struct admin_table table;
    struct edubba_schema *schema = NULL;
    enum edubba_code code = admin_call_table(call, resource, &table);
    if (code == EDUBBA_OK) {
        code = admin_call_schema(call, &table, &schema);
    }
    edubba_schema_free(schema);
    return code;
}

enum edubba_code iam_check_resource(struct admin_call *call, const char *resource)
{
    struct resource_name name;
    struct record record = {NULL, 0};
    if (is_not_served(resource)) {
        return admin_call_fail(call, EDUBBA_UNIMPLEMENTED, "This server has no such resources: %s",
                               resource);
    }
    if (is_a(resource, RESOURCE_INSTANCE, &name)) {
        return instances_get(call, &name, &record);
    }
    if (is_a(resource, RESOURCE_CLUSTER, &name) || is_a(resource, RESOURCE_APP_PROFILE, &name)) {
        return instances_get_child(call, &name, &record);
    }
    return check_table(call, resource);
}

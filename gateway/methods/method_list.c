#include "gateway/methods/method_list.h"

#include <string.h>

#include "common/base/assert.h"
#include "gateway/health/health.h"
#include "gateway/iam/iam.h"
#include "gateway/instance_admin/instance_admin.h"
#include "gateway/methods/data_methods.h"
#include "gateway/operations/operations.h"
#include "gateway/table_admin/table_admin.h"

typedef const struct rpc_method *(*list_function)(size_t *ret_count);

static const list_function LISTS[] = {
    data_methods, table_admin_methods, instance_admin_methods,
    iam_methods,  operation_methods,   health_methods,
};

static struct rpc_method all[METHOD_LIST_MAX];
static size_t all_count;

/* libgrpc takes a path once; that nobody else has taken it is ours to see to. */
static void add(const struct rpc_method *method)
{
    for (size_t i = 0; i < all_count; i++) {
        ASSERT(strcmp(all[i].path, method->path) != 0);
    }
    ASSERT(all_count < METHOD_LIST_MAX);
    all[all_count] = *method;
    all_count++;
}

static void add_all(void)
{
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        size_t count = 0;
        const struct rpc_method *methods = LISTS[i](&count);
        for (size_t j = 0; j < count; j++) {
            add(&methods[j]);
        }
    }
}

const struct rpc_method *method_list(size_t *ret_count)
{
    if (all_count == 0) {
        add_all();
    }
    *ret_count = all_count;
    return all;
}

const char *method_list_name(const struct rpc_method *method)
{
    const char *slash = strrchr(method->path, '/');
    ASSERT(slash != NULL);
    const char *name = slash;
    while (name > method->path && name[-1] != '.' && name[-1] != '/') {
        name--;
    }
    return name;
}

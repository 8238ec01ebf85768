#include "common/io/http_routes.h"

#include <string.h>

#include "common/base/memory.h"

void http_routes_init(struct http_routes *routes)
{
    pthread_mutex_init(&routes->lock, NULL);
    routes->first = NULL;
}

void http_routes_deinit(struct http_routes *routes)
{
    while (routes->first != NULL) {
        struct http_route *route = routes->first;
        routes->first = route->next;
        memory_free(route);
    }
    pthread_mutex_destroy(&routes->lock);
}

static bool is_taken_locked(const struct http_routes *routes, const char *path)
{
    for (const struct http_route *route = routes->first; route != NULL; route = route->next) {
        if (strcmp(route->path, path) == 0) {
            return true;
        }
    }
    return false;
}

enum status http_routes_add(struct http_routes *routes,
                            const char *path,
                            const struct http_route *form)
{
    size_t path_bytes = strlen(path) + 1;
    struct http_route *route = memory_allocate(sizeof *route + path_bytes);
    if (route == NULL) {
        return STATUS_NO_MEMORY;
    }
    *route = *form;
    memcpy(route->path, path, path_bytes);
    pthread_mutex_lock(&routes->lock);
    bool taken = is_taken_locked(routes, path);
    if (!taken) {
        route->next = routes->first;
        routes->first = route;
    }
    pthread_mutex_unlock(&routes->lock);
    if (taken) {
        memory_free(route);
    }
    return taken ? STATUS_ALREADY_EXISTS : STATUS_OK;
}

static bool is_at(const struct http_route *route, const char *path, size_t path_bytes)
{
    size_t route_bytes = strlen(route->path);
    if (path_bytes < route_bytes || memcmp(path, route->path, route_bytes) != 0) {
        return false;
    }
    return path_bytes == route_bytes || (route->tree && path[route_bytes] == '/');
}

const struct http_route *http_routes_find(struct http_routes *routes, const char *uri)
{
    const struct http_route *found = NULL;
    size_t path_bytes = strcspn(uri, "?#");
    pthread_mutex_lock(&routes->lock);
    for (const struct http_route *route = routes->first; route != NULL; route = route->next) {
        if (is_at(route, uri, path_bytes) &&
            (found == NULL || strlen(route->path) > strlen(found->path))) {
            found = route;
        }
    }
    pthread_mutex_unlock(&routes->lock);
    return found;
}

void http_routes_list(struct http_routes *routes, struct buffer *out)
{
    pthread_mutex_lock(&routes->lock);
    for (const struct http_route *route = routes->first; route != NULL; route = route->next) {
        buffer_append_format(out, "%s%s", route == routes->first ? "" : ", ", route->path);
    }
    pthread_mutex_unlock(&routes->lock);
}

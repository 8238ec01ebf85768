/* Calls over TLS: who is believed, and what files must be. */
#include "rpc_fixture.h"

#include "common/base/buffer.h"
#include "common/io/file.h"
#include "gateway/rpc/tls_files.h"
#include "tests/support/test_folder.h"

#include <unistd.h>

static struct service service;
static struct rpc_client client;
static char folder[256];
static char certificate_path[300];
static char key_path[300];
static char other_key_path[300];
static char *certificate;
static char *key;

static char *read_text(const char *path)
{
    struct buffer text = BUFFER_INIT;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(file_read_whole(path, 1 << 20, &text, &error), STATUS_OK, "%s", error.text);
    buffer_append_u8(&text, '\0');
    return (char *)text.data;
}

/* Signed by itself, so that it is its own authority. */
static void make_certificate(const char *name, const char *path, const char *path_of_key)
{
    char command[1200];
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                   "-days 2 -subj /CN=%s -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
                   "-keyout %s -out %s >/dev/null 2>&1",
                   name, path_of_key, path);
    cr_assert_eq(system(command), 0, "%s", command);
}

static void make_files(void)
{
    char other[300];
    test_folder_make(folder, sizeof folder, "rpc-tls");
    (void)snprintf(certificate_path, sizeof certificate_path, "%s/certificate", folder);
    (void)snprintf(key_path, sizeof key_path, "%s/key", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    (void)snprintf(other_key_path, sizeof other_key_path, "%s/other_key", folder);
    make_certificate("here", certificate_path, key_path);
    make_certificate("there", other, other_key_path);
    certificate = read_text(certificate_path);
    key = read_text(key_path);
    (void)unlink(other);
}

static void remove_files(void)
{
    (void)unlink(certificate_path);
    (void)unlink(key_path);
    (void)unlink(other_key_path);
    (void)rmdir(folder);
}

TestSuite(rpc_tls, .init = make_files, .fini = remove_files);

static struct rpc_settings tls_settings(void)
{
    struct rpc_settings settings = service_settings(&service);
    settings.certificate_file = certificate_path;
    settings.key_file = key_path;
    return settings;
}

static grpc_status_code echo(const struct rpc_client_tls *tls)
{
    char text[512];
    struct bytes message = encoded(bytes_of_text("secret"));
    struct rpc_client_request request = {
        .path = "/test.Test/Echo", .message = message, .deadline_ms = 20000};
    rpc_client_open(&client, rpc_server_address(service.server), tls);
    grpc_status_code code = ask(&client, &request, text, sizeof text);
    rpc_client_close(&client);
    free((void *)(uintptr_t)message.data);
    return code;
}

Test(rpc_tls, who_believes_the_certificate_is_answered)
{
    struct rpc_settings settings = tls_settings();
    service_open(&service, &settings);
    struct rpc_client_tls tls = {.authority = certificate};
    cr_assert_eq(echo(&tls), GRPC_STATUS_OK);
    cr_assert_eq(echo(NULL), GRPC_STATUS_UNAVAILABLE, "plaintext is not taken");
    rpc_server_close(service.server);
    cr_assert_eq(atomic_load(&service.begun), 1);
}

Test(rpc_tls, who_must_have_a_certificate_is_refused_without)
{
    struct rpc_settings settings = tls_settings();
    settings.client_ca_file = certificate_path;
    service_open(&service, &settings);
    struct rpc_client_tls without = {.authority = certificate};
    struct rpc_client_tls with = {.authority = certificate, .certificate = certificate, .key = key};
    cr_assert_eq(echo(&with), GRPC_STATUS_OK);
    cr_assert_neq(echo(&without), GRPC_STATUS_OK);
    rpc_server_close(service.server);
    cr_assert_eq(atomic_load(&service.begun), 1);
}

Test(rpc_tls, a_stream_goes_through)
{
    struct rpc_client_call call;
    struct rpc_client_tls tls = {.authority = certificate};
    struct rpc_settings settings = tls_settings();
    unsigned count = 0;
    service_open(&service, &settings);
    rpc_client_open(&client, rpc_server_address(service.server), &tls);
    begin_call(&client, "/test.Test/Stream", bytes_of_text("100 100000"), &call);
    while (rpc_client_next(&call)) {
        count++;
    }
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK);
    cr_assert_eq(count, 100);
    rpc_client_free(&call);
    service_end(&service, &client);
}

static void expect_refused(const struct rpc_settings *settings, const char *named)
{
    struct rpc_server *server = NULL;
    struct error error = {.status = STATUS_OK};
    struct silence silence = silence_begin();
    enum status status = rpc_server_open(settings, &server, &error);
    cr_assert_eq(silence_end(&silence), 0, "the error says it, and nobody else");
    cr_assert_neq(status, STATUS_OK);
    cr_assert_null(server);
    cr_assert(strstr(error.text, named) != NULL, "%s", error.text);
}

Test(rpc_tls, files_that_are_none_are_named)
{
    struct rpc_settings settings = tls_settings();
    settings.key_file = "/nonexistent/key";
    expect_refused(&settings, "/nonexistent/key");
    settings = tls_settings();
    settings.certificate_file = "/nonexistent/certificate";
    expect_refused(&settings, "/nonexistent/certificate");
    settings = tls_settings();
    settings.key_file = NULL;
    expect_refused(&settings, certificate_path);
    settings = tls_settings();
    settings.client_ca_file = "/nonexistent/authority";
    expect_refused(&settings, "/nonexistent/authority");
    settings = tls_settings();
    settings.key_file = other_key_path; /* another's */
    expect_refused(&settings, "certificate");
    settings = tls_settings();
    settings.certificate_file = key_path; /* none at all */
    expect_refused(&settings, "certificate");
}

/* --- files, before anything listens ------------------------------------------------------------- */

static void write_text(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void expect_fault(enum status status, const struct error *error, const char *said)
{
    cr_assert_eq(status, STATUS_INVALID_ARGUMENT, "%s", error->text);
    cr_assert(strstr(error->text, said) != NULL, "%s", error->text);
    cr_assert(strstr(error->text, folder) != NULL, "%s", error->text);
}

Test(rpc_tls, files_are_looked_into)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(tls_files_check_certificates(certificate_path, &error), STATUS_OK);
    cr_assert_eq(tls_files_check_key(key_path, certificate_path, &error), STATUS_OK);
    expect_fault(tls_files_check_certificates(key_path, &error), &error, "holds no certificate");
    expect_fault(tls_files_check_key(certificate_path, certificate_path, &error), &error,
                 "holds no private key");
    expect_fault(tls_files_check_key(other_key_path, certificate_path, &error), &error,
                 "is not the key");
    cr_assert_neq(tls_files_check_certificates(folder, &error), STATUS_OK);
    cr_assert_neq(tls_files_check_key("/nonexistent/key", certificate_path, &error), STATUS_OK);
    cr_assert_neq(tls_files_check_key(key_path, "/nonexistent/certificate", &error), STATUS_OK);
}

/* A chain, its end cut off, and nothing at all. */
Test(rpc_tls, all_certificates_of_a_file_are_looked_at)
{
    char path[300];
    char text[8192];
    struct error error = {.status = STATUS_OK};
    int size = snprintf(text, sizeof text, "%s%s", certificate, certificate);
    (void)snprintf(path, sizeof path, "%s/chain", folder);
    write_text(path, text, (size_t)size);
    cr_assert_eq(tls_files_check_certificates(path, &error), STATUS_OK, "%s", error.text);
    write_text(path, text, (size_t)size - 60);
    expect_fault(tls_files_check_certificates(path, &error), &error, "number 2 in it is broken");
    write_text(path, "", 0);
    expect_fault(tls_files_check_certificates(path, &error), &error, "holds no certificate");
    expect_fault(tls_files_check_key(path, certificate_path, &error), &error,
                 "holds no private key");
    (void)unlink(path);
}

Test(rpc_tls, nobody_is_asked_for_a_passphrase)
{
    char path[300];
    char command[1200];
    struct error error = {.status = STATUS_OK};
    (void)snprintf(path, sizeof path, "%s/locked", folder);
    (void)snprintf(command, sizeof command,
                   "openssl pkey -in %s -aes128 -passout pass:secret -out %s >/dev/null 2>&1",
                   key_path, path);
    cr_assert_eq(system(command), 0, "%s", command);
    expect_fault(tls_files_check_key(path, certificate_path, &error), &error, "passphrase");
    (void)unlink(path);
}

#include "gateway/rpc/tls_files.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "common/base/buffer.h"
#include "common/io/file.h"
#include "gateway/rpc/rpc_internal.h"

/* A file's bytes, and OpenSSL's view of them. */
struct pem {
    struct buffer text;
    BIO *reader;
};

static enum status open_pem(const char *path, struct pem *ret_pem, struct error *ret_error)
{
    *ret_pem = (struct pem){.text = BUFFER_INIT};
    enum status status = file_read_whole(path, RPC_PEM_BYTES_MAX, &ret_pem->text, ret_error);
    if (status == STATUS_OK) {
        bool is_empty = ret_pem->text.size_bytes == 0;
        ret_pem->reader = BIO_new_mem_buf(is_empty ? (const void *)"" : ret_pem->text.data,
                                          (int)ret_pem->text.size_bytes);
        status = ret_pem->reader != NULL
                     ? STATUS_OK
                     : error_set(ret_error, STATUS_NO_MEMORY, "no memory to read %s", path);
    }
    return status;
}

/* It may have been a key: nothing of it is left behind, in memory or among OpenSSL's errors. */
static void close_pem(struct pem *pem)
{
    (void)BIO_free(pem->reader);
    if (pem->text.size_bytes > 0) {
        explicit_bzero(pem->text.data, pem->text.size_bytes);
    }
    buffer_deinit(&pem->text);
    ERR_clear_error();
}

/* libgrpc has none either.  Without this OpenSSL would ask whoever sits at the terminal. */
static int no_passphrase(char *text, int size, int writes, void *context)
{
    (void)text;
    (void)size;
    (void)writes;
    (void)context;
    return 0;
}

/* Did it end because nothing more begins there, and not because something is broken? */
static bool is_at_end(void)
{
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

enum status tls_files_check_certificates(const char *path, struct error *ret_error)
{
    struct pem pem;
    X509 *certificate = NULL;
    size_t count = 0;
    enum status status = open_pem(path, &pem, ret_error);
    while (status == STATUS_OK &&
           (certificate = PEM_read_bio_X509_AUX(pem.reader, NULL, no_passphrase, NULL)) != NULL) {
        X509_free(certificate);
        count++;
    }
    if (status == STATUS_OK && count == 0) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s holds no certificate in PEM",
                           path);
    } else if (status == STATUS_OK && !is_at_end()) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT,
                           "%s: certificate number %zu in it is broken", path, count + 1);
    }
    close_pem(&pem);
    return status;
}

/* NULL = there is none. */
static X509 *read_certificate(const char *path, struct error *ret_error)
{
    struct pem pem;
    X509 *certificate = NULL;
    if (open_pem(path, &pem, ret_error) == STATUS_OK) {
        certificate = PEM_read_bio_X509_AUX(pem.reader, NULL, no_passphrase, NULL);
    }
    close_pem(&pem);
    return certificate;
}

static enum status compare(EVP_PKEY *key,
                           const char *path,
                           const char *certificate_path,
                           struct error *ret_error)
{
    X509 *certificate = read_certificate(certificate_path, ret_error);
    bool fits = certificate != NULL && X509_check_private_key(certificate, key) == 1;
    X509_free(certificate);
    ERR_clear_error();
    return fits ? STATUS_OK
                : error_set(ret_error, STATUS_INVALID_ARGUMENT,
                            "%s is not the key of the first certificate in %s", path,
                            certificate_path);
}

enum status tls_files_check_key(const char *path,
                                const char *certificate_path,
                                struct error *ret_error)
{
    struct pem pem;
    EVP_PKEY *key = NULL;
    enum status status = open_pem(path, &pem, ret_error);
    if (status == STATUS_OK) {
        key = PEM_read_bio_PrivateKey(pem.reader, NULL, no_passphrase, NULL);
        status = key != NULL
                     ? compare(key, path, certificate_path, ret_error)
                     : error_set(ret_error, STATUS_INVALID_ARGUMENT,
                                 "%s holds no private key in PEM, or one with a passphrase", path);
    }
    EVP_PKEY_free(key);
    close_pem(&pem);
    return status;
}

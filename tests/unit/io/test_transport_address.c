/* Addresses: which are local, which others can dial, which are none, and how a failure names them. */
#include <nng/nng.h>

#include "common/io/transport/transport_address.h"
#include "tests/support/transport_fixture.h"

Test(transport, addresses_that_others_reach_are_refused)
{
    static struct service service;
    struct error error;
    struct transport_listener *listener = NULL;
    struct transport_listener_options options = service_options(&service);
    options.address = "tcp://0.0.0.0:0";
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_FAILED_PRECONDITION);
    cr_assert(strstr(error.text, "0.0.0.0") != NULL, "%s", error.text);
    options.insecure = true;
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_OK);
    transport_listener_close(listener, 0);
    options.address = "tls+tcp://127.0.0.1:0";
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_UNIMPLEMENTED);
    options.address = "http://127.0.0.1:0";
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_INVALID_ARGUMENT);
    options.address = "tcp://127.0.0.1:99999";
    cr_assert_neq(transport_listen(&options, &listener, &error), STATUS_OK);
    cr_assert(strstr(error.text, "99999") != NULL, "%s", error.text);
}

Test(transport, local_addresses)
{
    cr_assert(transport_address_is_local("tcp://127.0.0.1:7401"));
    cr_assert(transport_address_is_local("tcp://127.1.2.3:0"));
    cr_assert(transport_address_is_local("tcp://localhost:7401"));
    cr_assert(transport_address_is_local("tcp://[::1]:7401"));
    cr_assert(transport_address_is_local("tls+tcp://127.0.0.1:7401"));
    cr_assert(transport_address_is_local("ipc:///run/edubba"));
    cr_assert(!transport_address_is_local("tcp://0.0.0.0:7401"));
    cr_assert(!transport_address_is_local("tcp://:7401"));
    cr_assert(!transport_address_is_local("tcp://*:7401"));
    cr_assert(transport_address_is_any("tcp://0.0.0.0:7401"));
    cr_assert(transport_address_is_any("tcp4://0.0.0.0:0"));
    cr_assert(transport_address_is_any("tcp://[::]:7401"));
    cr_assert(transport_address_is_any("tcp://*:7401"));
    cr_assert(transport_address_is_any("tcp://:7401"));
    cr_assert(!transport_address_is_any("tcp://127.0.0.1:7401"));
    cr_assert(!transport_address_is_any("tcp://10.0.0.0:7401"));
    cr_assert(!transport_address_is_any("tcp://[::1]:7401"));
    cr_assert(!transport_address_is_any("ipc:///run/edubba"));
}

Test(transport, others_are_told_what_they_can_dial)
{
    const char *const bad[] = {"tcp://0.0.0.0:7401", "tcp://[::]:7401", "tcp://*:7401",
                               "tcp://:7401",        "tcp://host",      "127.0.0.1:7401"};
    struct error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(transport_address_check_advertise(bad[i], &error), STATUS_INVALID_ARGUMENT);
        cr_assert_not_null(strstr(error.text, bad[i]), "%s", error.text);
    }
    cr_assert_eq(transport_address_check_advertise("tcp://server-7:7401", &error), STATUS_OK);
    cr_assert_eq(transport_address_check_advertise("ipc:///run/edubba", &error), STATUS_OK);
    cr_assert(!transport_address_is_local("tcp://127.0.0.1.example.com:7401"));
    cr_assert(!transport_address_is_local("tcp://localhost.example.com:7401"));
    cr_assert(!transport_address_is_local("tcp://192.168.1.1:7401"));
    cr_assert(!transport_address_is_local("tcp://[::]:7401"));
}

static void check_address(const char *address, enum status dial, enum status listen)
{
    struct error error = {0};
    cr_assert_eq(transport_address_check_dial(address, &error), dial, "%s: %s", address,
                 error.text);
    cr_assert(dial == STATUS_OK || strstr(error.text, address) != NULL, "%s", error.text);
    cr_assert_eq(transport_address_check_listen(address, false, &error), listen, "%s: %s", address,
                 error.text);
    cr_assert(listen == STATUS_OK || strstr(error.text, address) != NULL, "%s", error.text);
}

Test(transport, addresses_that_are_none)
{
    const enum status bad = STATUS_INVALID_ARGUMENT;
    check_address("tcp://127.0.0.1:7400", STATUS_OK, STATUS_OK);
    check_address("tcp://[::1]:65535", STATUS_OK, STATUS_OK);
    check_address("ipc:///run/edubba", STATUS_OK, STATUS_OK);
    check_address("tcp://127.0.0.1:0", bad, STATUS_OK);
    check_address("tcp://db1.example.com:7400", STATUS_OK, STATUS_FAILED_PRECONDITION);
    check_address("tcp://:7400", bad, STATUS_FAILED_PRECONDITION);
    const char *none[] = {"",
                          "tcp",
                          "tcp://",
                          "tcp://127.0.0.1",
                          "tcp://127.0.0.1:",
                          "tcp://127.0.0.1:65536",
                          "tcp://127.0.0.1:4294967297",
                          "tcp://127.0.0.1:-1",
                          "tcp://127.0.0.1:74x",
                          "tcp://127.0.0.1:7400/",
                          "tcp://127.0.0.1:7400:7401",
                          "tcp://127.0.0.1 :7400",
                          "tcp://[::1",
                          "tcp://[::1]",
                          "tcp://::1:7400",
                          "127.0.0.1:7400",
                          "http://127.0.0.1:7400",
                          "ipc://"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        check_address(none[i], bad, bad);
    }
}

Test(transport, addresses_of_http)
{
    struct error error = {0};
    cr_assert_eq(transport_address_check_http("127.0.0.1:0", false, &error), STATUS_OK);
    cr_assert_eq(transport_address_check_http("0.0.0.0:80", true, &error), STATUS_OK);
    cr_assert_eq(transport_address_check_http("0.0.0.0:80", false, &error),
                 STATUS_FAILED_PRECONDITION);
    cr_assert_eq(transport_address_check_http("127.0.0.1", true, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(transport_address_check_http("http://127.0.0.1:80", true, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(transport_address_check_http("", true, &error), STATUS_INVALID_ARGUMENT);
}

Test(transport, a_host_that_is_not_known_is_named)
{
    struct error error = {0};
    (void)transport_address_failed("connect to", "tcp://nowhere:7400", NNG_EADDRINVAL, &error);
    cr_assert_not_null(strstr(error.text, "tcp://nowhere:7400: the host's name cannot be resolved"),
                       "%s", error.text);
    (void)transport_address_failed("connect to", "tcp://10.0.0.300:7400", NNG_EADDRINVAL, &error);
    cr_assert_not_null(strstr(error.text, "no IP address"), "%s", error.text);
    (void)transport_address_failed("connect to", "tcp://nowhere:7400", NNG_ECONNREFUSED, &error);
    cr_assert_null(strstr(error.text, "resolved"), "%s", error.text);
}

/* Tablets whose members are all lost: what is listed, what is chosen, what is refused (docs/replication.md,
 * rule 18). */
#include "tests/support/replica_fixture.h"

TestSuite(recover, .init = start, .fini = stop, .timeout = 300);

/* --- helpers ------------------------------------------------------------------------------------ */

static uint64_t send_recover(const char *table, uint64_t tablet, bool accept, uint64_t store)
{
    struct buffer body = BUFFER_INIT;
    const struct recover_request request = {.table = bytes_of_text(table),
                                            .tablet = tablet,
                                            .accept_loss = accept,
                                            .store = store,
                                            .who = bytes_of_text(accept ? "ada" : "")};
    recover_request_encode(&request, &body);
    return driver_send(&driver, METHOD_RECOVER, &body);
}

static struct recover_response answer_to(uint64_t number)
{
    struct recover_response response;
    cr_assert_eq(
        recover_response_decode(driver_body(&driver, number), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

static struct recover_response list(const char *table, uint64_t tablet)
{
    return answer_to(send_recover(table, tablet, false, 0));
}

static void refused(uint64_t tablet, uint64_t store, enum status status, const char *text)
{
    driver_assert_refused(&driver, send_recover("", tablet, true, store), status, text);
}

static struct held_tablet *held_by(uint64_t server, uint64_t tablet)
{
    return fake_held(&server_of(server)->fake, tablet);
}

/* All members are gone, but for one that says it cannot lead. */
static uint64_t lose_all_but(uint64_t *ret_tablet)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view view = newest_view(tablet);
    struct replica_member left = other_member(&view);
    for (uint32_t i = 0; i < view.configuration.member_count; i++) {
        uint64_t server = view.configuration.members[i].server;
        server_of(server)->down = server != left.server;
    }
    held_by(left.server, tablet)->committed = 77;
    wait_idle(70 * SECOND_NS);
    *ret_tablet = tablet;
    return left.server;
}

/* --- tests -------------------------------------------------------------------------------------- */

Test(recover, nothing_is_listed_while_somebody_leads_but_what_is_named)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    wait_idle(120 * SECOND_NS);
    cr_assert_eq(list("", 0).tablet_count, 0);
    cr_assert_eq(list("t", 0).tablet_count, 0);
    struct recover_response one = list("", tablet);
    cr_assert_eq(one.tablet_count, 1);
    cr_assert_eq(one.tablets[0].why.size_bytes, 0);
    cr_assert_eq(one.tablets[0].copy_count, 3);
    refused(tablet, 0, STATUS_FAILED_PRECONDITION, "nothing is lost");
    refused(4711, 0, STATUS_NOT_FOUND, "4711");
    driver_assert_refused(&driver, send_recover("none", 0, false, 0), STATUS_NOT_FOUND, "none");
}

Test(recover, a_tablet_is_lost_when_nobody_has_led_it_for_replace_after)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view view = newest_view(tablet);
    for (uint32_t i = 0; i < view.configuration.member_count; i++) {
        server_of(view.configuration.members[i].server)->down = true;
    }
    wait_idle(55 * SECOND_NS);
    cr_assert_eq(list("", 0).tablet_count, 0);
    refused(tablet, 0, STATUS_FAILED_PRECONDITION, "replication.replace_after");
    wait_idle(10 * SECOND_NS);
    struct recover_response lost = list("t", 0);
    cr_assert_eq(lost.tablet_count, 1);
    cr_assert_eq(lost.tablets[0].tablet, tablet);
    cr_assert_gt(lost.tablets[0].why.size_bytes, 0);
    cr_assert_eq(lost.tablets[0].copies[0].flags & FOUND_ALIVE, 0);
    refused(tablet, 0, STATUS_FAILED_PRECONDITION, "start a server");
    refused(tablet, 999, STATUS_FAILED_PRECONDITION, "no server has told");
}

static uint32_t state_told(bool detailed)
{
    struct buffer body = BUFFER_INIT;
    struct locate_response response;
    const struct locate_request locate = {.name = bytes_of_text("t"), .detailed = detailed};
    locate_request_encode(&locate, &body);
    uint64_t request = driver_send(&driver, METHOD_LOCATE, &body);
    cr_assert_eq(
        locate_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response.locations[0].state;
}

static void assert_shown(uint64_t serving, uint64_t not_led, const char *json)
{
    struct catalog_counts counts;
    struct buffer status = BUFFER_INIT;
    catalog_look(driver.catalog, driver.now_ns);
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.tablets_by_state[TABLET_SERVING], serving);
    cr_assert_eq(counts.tablets_by_state[TABLET_NOT_LED], not_led);
    catalog_status_json(driver.catalog, "active", &status);
    buffer_append_u8(&status, 0);
    cr_assert_not_null(strstr((const char *)status.data, json), "%s", (const char *)status.data);
    buffer_deinit(&status);
}

Test(recover, what_nobody_leads_is_shown_so_wherever_it_is_shown)
{
    uint64_t tablet = 0;
    make_replicated("u"); /* one that is led */
    uint64_t left = lose_all_but(&tablet);
    (void)left;
    cr_assert_eq(list("t", 0).tablet_count, 1);
    cr_assert_eq(state_told(true), TABLET_NOT_LED);
    cr_assert_eq(state_told(false), TABLET_SERVING); /* clients try where it is known to be */
    size_t lost = list("", 0).tablet_count;
    assert_shown(2 - lost, lost,
                 "\"serving\":0,\"creating\":0,\"splitting\":0,\"unavailable\":0,\"not_led\":1");
    (void)answer_to(send_recover("", tablet, true, 0));
    driver_pass(&driver, SECOND_NS);
    cr_assert_eq(state_told(true), TABLET_SERVING);
}

Test(recover, the_copy_that_is_left_becomes_the_tablet_and_the_catalog_keeps_who_said_so)
{
    uint64_t tablet = 0;
    uint64_t left = lose_all_but(&tablet);
    struct recover_response lost = list("", 0);
    cr_assert_eq(lost.tablet_count, 1);
    const struct found_copy *best = &lost.tablets[0].copies[0];
    cr_assert_eq(best->server, left);
    cr_assert_eq(best->committed, 77);
    cr_assert_eq(best->flags, FOUND_MEMBER | FOUND_HELD | FOUND_ALIVE);
    uint64_t before = lost.tablets[0].version;

    uint64_t store = best->store;
    cr_assert_eq(answer_to(send_recover("", tablet, true, 0)).chosen_store, store);
    struct sync_response told = replica_sync(&driver, server_of(left));
    bool recovered = false;
    for (size_t i = 0; i < told.tablet_count; i++) {
        recovered = recovered ||
                    (told.tablets[i].location.tablet == tablet && told.tablets[i].recovered &&
                     told.tablets[i].configuration.version == replica_version_of_next_era(before) &&
                     told.tablets[i].configuration.member_count == 1 &&
                     told.tablets[i].configuration.members[0].store == store);
    }
    cr_assert(recovered);
    refused(tablet, 0, STATUS_FAILED_PRECONDITION, "nothing is lost");
    driver_crash(&driver); /* it is durable */
    struct recover_response kept = list("", tablet);
    cr_assert_gt(kept.tablets[0].recovered_us, 0);
    cr_assert(bytes_equal(kept.tablets[0].recovered_by, bytes_of_text("ada")));
}

Test(recover, whole_ones_come_first_then_those_that_have_more)
{
    uint64_t tablet = 0;
    uint64_t left = lose_all_but(&tablet);
    struct replica_server *others[2];
    size_t count = 0;
    for (uint64_t server = 1; server <= SERVERS && count < 2; server++) {
        if (!server_of(server)->down && held_by(server, tablet) == NULL) {
            others[count++] = server_of(server);
        }
    }
    held_by(left, tablet)->damaged = true;
    for (size_t i = 0; i < 2; i++) { /* copies that were members once */
        fake_hold(&others[i]->fake, tablet, replica_server_member(others[i]).store, HELD_SERVING);
        fake_held(&others[i]->fake, tablet)->role = HELD_AS_OUTSIDER;
        fake_held(&others[i]->fake, tablet)->version = 1;
        fake_held(&others[i]->fake, tablet)->committed = 10 + i;
        (void)replica_sync(&driver, others[i]);
    }
    (void)replica_sync(&driver, server_of(left));
    struct recover_response lost = list("", tablet);
    cr_assert_eq(lost.tablets[0].copies[0].committed, 11);
    cr_assert_eq(lost.tablets[0].copies[1].committed, 10);
    cr_assert_eq(lost.tablets[0].copies[2].server, left);
    fake_held(&others[1]->fake, tablet)->state = HELD_CREATED; /* half taught */
    (void)replica_sync(&driver, others[1]);
    uint64_t half = replica_server_member(others[1]).store;
    refused(tablet, half, STATUS_FAILED_PRECONDITION, "nothing that counts");
    uint64_t damaged = replica_server_member(server_of(left)).store;
    cr_assert_eq(answer_to(send_recover("", tablet, true, damaged)).chosen_store, damaged);
}

Test(recover, who_orders_it_must_be_said)
{
    uint64_t tablet = 0;
    (void)lose_all_but(&tablet);
    struct buffer body = BUFFER_INIT;
    const struct recover_request request = {.tablet = tablet, .accept_loss = true};
    recover_request_encode(&request, &body);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_RECOVER, &body),
                          STATUS_INVALID_ARGUMENT, "who accepts");
}

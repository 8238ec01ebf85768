/*
 * Configurations of replicas.  The changes are judged against every pair of small configurations,
 * by a judge that counts on its fingers.
 */
#include <criterion/criterion.h>
#include <signal.h>

#include "common/base/replica_configuration.h"

/* Member n: server n + 1, store 10 n + 7. */
static struct replica_member member(uint32_t n)
{
    return (struct replica_member){n + 1, 10 * n + 7};
}

/* Bits of a set, and who leads. */
static struct replica_configuration make(uint64_t version, uint32_t set, uint32_t leader)
{
    struct replica_configuration made = {.version = version};
    for (uint32_t n = 0; n < 8; n++) {
        if ((set & 1U << n) != 0) {
            made.leader = n == leader ? made.member_count : made.leader;
            made.members[made.member_count++] = member(n);
        }
    }
    return made;
}

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static enum replica_change judge(uint32_t from, uint32_t leader, uint32_t to, uint32_t next_leader)
{
    if (from == to) {
        return leader == next_leader ? REPLICA_CHANGE_NONE : REPLICA_CHANGE_YIELD;
    }
    if (leader == next_leader && bits(from ^ to) == 1) {
        return bits(to) > bits(from) ? REPLICA_CHANGE_ADD : REPLICA_CHANGE_REMOVE;
    }
    if (leader != next_leader && to == (from & ~(1U << leader))) {
        return REPLICA_CHANGE_REPLACE;
    }
    return REPLICA_CHANGE_BAD;
}

static bool includes(const struct replica_union *all, uint32_t n)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->members[i].store == member(n).store) {
            return true;
        }
    }
    return false;
}

static void compare_pair(uint32_t from, uint32_t leader, uint32_t to, uint32_t next_leader)
{
    struct replica_configuration a = make(5, from, leader);
    struct replica_configuration b = make(6, to, next_leader);
    enum replica_change change = replica_configuration_change(&a, &b);
    cr_assert_eq(change, judge(from, leader, to, next_leader), "%x/%u -> %x/%u: %d", from, leader,
                 to, next_leader, (int)change);
    if (change == REPLICA_CHANGE_BAD) {
        return;
    }
    struct replica_union both = replica_union_of(&a, &b);
    cr_assert_eq(both.count, bits(from | to));
    for (uint32_t n = 0; n < 4; n++) {
        cr_assert_eq(includes(&both, n), ((from | to) & 1U << n) != 0);
    }
    for (uint32_t i = 1; i < both.count; i++) {
        cr_assert_lt(both.members[i - 1].server, both.members[i].server);
    }
}

Test(configuration, every_change_of_four_members)
{
    for (uint32_t from = 1; from < 16; from++) {
        for (uint32_t to = 1; to < 16; to++) {
            for (uint32_t leaders = 0; leaders < 16; leaders++) {
                uint32_t leader = leaders / 4;
                uint32_t next_leader = leaders % 4;
                if ((from & 1U << leader) != 0 && (to & 1U << next_leader) != 0) {
                    compare_pair(from, leader, to, next_leader);
                }
            }
        }
    }
}

/* What is made here is what the judge above takes. */
Test(configuration, makes_every_next_one)
{
    for (uint32_t set = 1; set < 16; set++) {
        for (uint32_t leader = 0; leader < 4; leader++) {
            if ((set & 1U << leader) == 0) {
                continue;
            }
            struct replica_configuration now = make(5, set, leader);
            for (uint32_t n = 0; n < 4; n++) {
                struct replica_configuration next;
                struct replica_configuration expected;
                if ((set & 1U << n) == 0) {
                    next = replica_configuration_add(&now, member(n));
                    expected = make(6, set | 1U << n, leader);
                } else if (n == leader) {
                    next = replica_configuration_lead(&now, member(n).store, false);
                    expected = make(6, set, leader);
                } else {
                    next = replica_configuration_remove(&now, member(n).store);
                    expected = make(6, set & ~(1U << n), leader);
                    cr_assert(replica_configuration_equal(&next, &expected));
                    next = replica_configuration_lead(&now, member(n).store, true);
                    expected = make(6, set & ~(1U << leader), n);
                    cr_assert(replica_configuration_equal(&next, &expected));
                    next = replica_configuration_lead(&now, member(n).store, false);
                    expected = make(6, set, n);
                }
                cr_assert(replica_configuration_equal(&next, &expected), "%x/%u, %u", set, leader,
                          n);
                cr_assert_neq(replica_configuration_change(&now, &next), REPLICA_CHANGE_BAD);
            }
        }
    }
}

Test(configuration, other_versions_are_no_change)
{
    struct replica_configuration now = make(5, 7, 0);
    for (uint64_t version = 0; version < 9; version++) {
        struct replica_configuration next = make(version, 7, 1);
        cr_assert_eq(replica_configuration_change(&now, &next) != REPLICA_CHANGE_BAD, version == 6);
    }
}

Test(configuration, unsound_ones_are_refused)
{
    struct replica_configuration now = make(5, 3, 0);
    struct replica_configuration next = make(6, 7, 0);
    cr_assert_eq(replica_configuration_change(&now, &next), REPLICA_CHANGE_ADD);

    struct replica_configuration bad = next;
    bad.members[2].store = bad.members[0].store; /* one store twice */
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
    bad = next;
    bad.members[2].server = bad.members[1].server; /* two stores of one server */
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
    bad = next;
    bad.members[2] = (struct replica_member){0, 0};
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
    bad = next;
    bad.leader = 3;
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
    bad = next;
    bad.member_count = REPLICA_MEMBERS_MAX + 1;
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
    bad = next;
    bad.member_count = 0;
    cr_assert_eq(replica_configuration_change(&now, &bad), REPLICA_CHANGE_BAD);
}

/* The same store on another server is another member: a disk that was carried over. */
Test(configuration, a_member_is_server_and_store)
{
    struct replica_configuration now = make(5, 7, 0);
    struct replica_configuration next = make(6, 7, 0);
    next.members[2].server = 9;
    cr_assert_eq(replica_configuration_change(&now, &next), REPLICA_CHANGE_BAD);
}

Test(configuration, finds_by_store)
{
    struct replica_configuration now = make(5, 13, 2);
    cr_assert_eq(replica_configuration_find(&now, member(0).store), 0);
    cr_assert_eq(replica_configuration_find(&now, member(2).store), 1);
    cr_assert_eq(replica_configuration_find(&now, member(3).store), 2);
    cr_assert_eq(replica_configuration_find(&now, member(1).store), 3);
    cr_assert(replica_configuration_is_leader(&now, member(2).store));
    cr_assert(!replica_configuration_is_leader(&now, member(0).store));
    cr_assert(!replica_configuration_is_leader(&now, 0));
}

Test(configuration, is_filled_to_the_brim)
{
    struct replica_configuration now = make(1, 0x7f, 6);
    struct replica_configuration less = replica_configuration_remove(&now, member(0).store);
    struct replica_configuration more = replica_configuration_add(&less, member(7));
    cr_assert_eq(more.member_count, REPLICA_MEMBERS_MAX);
    cr_assert(replica_configuration_is_leader(&more, member(6).store));
    struct replica_union both = replica_union_of(&less, &more);
    cr_assert_eq(both.count, REPLICA_MEMBERS_MAX);
    both = replica_union_of(&now, NULL);
    cr_assert_eq(both.count, REPLICA_MEMBERS_MAX);
}

Test(configuration, the_leader_is_not_removed, .signal = SIGABRT)
{
    struct replica_configuration now = make(5, 7, 0);
    (void)replica_configuration_remove(&now, member(0).store);
}

Test(configuration, no_member_comes_twice, .signal = SIGABRT)
{
    struct replica_configuration now = make(5, 7, 0);
    (void)replica_configuration_add(&now, member(1));
}

Test(configuration, an_outsider_does_not_lead, .signal = SIGABRT)
{
    struct replica_configuration now = make(5, 3, 0);
    (void)replica_configuration_lead(&now, member(2).store, false);
}

Test(configuration, what_comes_from_outside_is_judged_not_asserted)
{
    struct replica_configuration good = make(5, 7, 1);
    cr_assert(replica_configuration_is_sound(&good));
    struct replica_configuration bad = good;
    bad.version = 0;
    cr_assert(!replica_configuration_is_sound(&bad));
    bad = good;
    bad.leader = 3;
    cr_assert(!replica_configuration_is_sound(&bad));
    bad = good;
    bad.member_count = 0;
    cr_assert(!replica_configuration_is_sound(&bad));
    bad.member_count = REPLICA_MEMBERS_MAX + 1;
    cr_assert(!replica_configuration_is_sound(&bad));
    bad = good;
    bad.members[1].server = bad.members[0].server;
    cr_assert(!replica_configuration_is_sound(&bad), "two in one server");
    bad = good;
    bad.members[2].store = bad.members[0].store;
    cr_assert(!replica_configuration_is_sound(&bad), "one store twice");
    bad = good;
    bad.members[0] = good.members[1];
    bad.members[1] = good.members[0];
    cr_assert(!replica_configuration_is_sound(&bad), "not ascending");
}

Test(configuration, the_same_members_whatever_version_and_leader)
{
    struct replica_configuration now = make(5, 7, 1);
    struct replica_configuration other = make(9, 7, 2);
    cr_assert(replica_configuration_same_members(&now, &other));
    other = make(5, 3, 1);
    cr_assert(!replica_configuration_same_members(&now, &other));
    cr_assert(!replica_configuration_same_members(&other, &now));
    other = make(5, 11, 1);
    cr_assert(!replica_configuration_same_members(&now, &other));
    cr_assert_eq(replica_configuration_leader(&now).store, member(1).store);
    cr_assert(replica_configuration_has(&now, member(2)));
    cr_assert(!replica_configuration_has(&now, (struct replica_member){member(2).server, 1}));
}

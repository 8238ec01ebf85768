/*
 * Always-on assertions.  They state what the program believes; they are not error handling.
 */
#ifndef COMMON_BASE_ASSERT_H
#define COMMON_BASE_ASSERT_H

_Noreturn void assert_fail(const char *text, const char *file, int line, const char *function);

#define ASSERT(condition) \
    ((condition) ? (void)0 : assert_fail(#condition, __FILE__, __LINE__, __func__))

/* IMPLIES(p, c): where p holds, c must hold. */
#define IMPLIES(premise, conclusion) (!(premise) || (conclusion))

#define UNREACHABLE() assert_fail("unreachable", __FILE__, __LINE__, __func__)

#endif /* COMMON_BASE_ASSERT_H */

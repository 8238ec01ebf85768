// common/model/regex.h over libre2: the only file that knows it, and the only C++.
//
// Latin-1 makes RE2 work on raw bytes: every byte is one character, and \C is any of them.
// An exception must never reach C: compiling turns it into a status; matching is noexcept, so the
// process ends rather than answer wrongly if RE2 cannot even grow its cache within its bound.

#include <new>

#include <re2/re2.h>

extern "C" {
#include "common/base/memory.h"
#include "common/model/regex.h"
}

struct regex {
    re2::RE2 re2;

    regex(const re2::StringPiece &pattern, const re2::RE2::Options &options) : re2(pattern, options)
    {
    }
};

static re2::RE2::Options make_options(size_t memory_limit_bytes)
{
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_dot_nl(false);
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(static_cast<int64_t>(memory_limit_bytes));
    return options;
}

static re2::StringPiece piece_of(struct bytes bytes)
{
    return re2::StringPiece(reinterpret_cast<const char *>(bytes.data), bytes.size_bytes);
}

extern "C" enum status regex_compile(struct bytes pattern,
                                     size_t memory_limit_bytes,
                                     struct regex **ret_regex,
                                     struct error *ret_error)
{
    void *memory = memory_allocate(sizeof(struct regex));
    if (memory == nullptr) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    struct regex *regex = nullptr;
    try {
        regex = new (memory)(struct regex)(piece_of(pattern), make_options(memory_limit_bytes));
        if (!regex->re2.ok()) {
            enum status status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s",
                                           regex->re2.error().c_str());
            regex_destroy(regex);
            return status;
        }
    } catch (const std::bad_alloc &) {
        if (regex != nullptr) {
            regex_destroy(regex);
        } else {
            memory_free(memory);
        }
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    *ret_regex = regex;
    return STATUS_OK;
}

extern "C" void regex_destroy(struct regex *regex)
{
    if (regex != nullptr) {
        regex->~regex();
        memory_free(regex);
    }
}

static bool matches(const re2::RE2 &re2, const re2::StringPiece &text) noexcept
{
    return re2::RE2::FullMatchN(text, re2, nullptr, 0);
}

extern "C" bool regex_matches(const struct regex *regex, struct bytes text)
{
    return matches(regex->re2, piece_of(text));
}

/*
 * Hexadecimal digits in what people and programs of others write: in either case.
 *
 * What we write ourselves (names of log files, tokens) has one spelling, and its readers take no
 * other: they do not read by this.
 */
#ifndef COMMON_BASE_HEX_H
#define COMMON_BASE_HEX_H

#include <stdint.h>

/* 0 to 15; -1 for what is no digit. */
static inline int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

#endif /* COMMON_BASE_HEX_H */

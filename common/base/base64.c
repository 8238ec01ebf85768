#include "common/base/base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct bytes bytes, char *ret_text)
{
    char *out = ret_text;
    for (size_t i = 0; i < bytes.size_bytes; i += 3) {
        size_t left = bytes.size_bytes - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0;
        *out++ = DIGITS[group >> 18];
        *out++ = DIGITS[group >> 12 & 63];
        *out++ = '=';
        *out++ = '=';
        if (left > 1) {
            out[-2] = DIGITS[group >> 6 & 63];
        }
        if (left > 2) {
            out[-1] = DIGITS[group & 63];
        }
    }
    *out = '\0';
}

/* 64 for what is no digit. */
static uint32_t value_of(uint8_t character)
{
    if (character >= 'A' && character <= 'Z') {
        return character - (uint32_t)'A';
    }
    if (character >= 'a' && character <= 'z') {
        return character - (uint32_t)'a' + 26;
    }
    if (character >= '0' && character <= '9') {
        return character - (uint32_t)'0' + 52;
    }
    if (character == '+' || character == '-') {
        return 62;
    }
    return character == '/' || character == '_' ? 63 : 64;
}

static struct bytes without_padding(struct bytes text)
{
    for (int i = 0; i < 2 && text.size_bytes > 0 && text.data[text.size_bytes - 1] == '='; i++) {
        text.size_bytes--;
    }
    return text;
}

bool base64_decode(struct bytes text, uint8_t *out, size_t out_bytes_max, size_t *ret_size_bytes)
{
    struct bytes digits = without_padding(text);
    size_t size = digits.size_bytes / 4 * 3 + digits.size_bytes % 4 * 3 / 4;
    size_t written = 0;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    if (size > out_bytes_max || digits.size_bytes % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < digits.size_bytes; i++) {
        uint32_t value = value_of(digits.data[i]);
        if (value == 64) {
            return false;
        }
        bits = (bits << 6 | value) & 0xffff;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[written++] = (uint8_t)(bits >> bit_count);
        }
    }
    *ret_size_bytes = written;
    return true;
}

#include "gateway/convert/convert_schema.h"

typedef Google__Bigtable__Admin__V2__Type Type;
typedef Google__Bigtable__Admin__V2__Type__Aggregate Aggregate;
typedef Google__Bigtable__Admin__V2__Type__Int64 Int64;
typedef Google__Bigtable__Admin__V2__Type__Int64__Encoding Int64Encoding;
typedef Google__Bigtable__Admin__V2__Type__Int64__Encoding__BigEndianBytes BigEndianBytes;
typedef Google__Bigtable__Admin__V2__Type__Bytes Bytes;
typedef Google__Bigtable__Admin__V2__Type__Bytes__Encoding BytesEncoding;
typedef Google__Bigtable__Admin__V2__Type__Bytes__Encoding__Raw Raw;
typedef Google__Bigtable__Admin__V2__Type__Aggregate__Sum Sum;
typedef Google__Bigtable__Admin__V2__Type__Aggregate__Min Min;
typedef Google__Bigtable__Admin__V2__Type__Aggregate__Max Max;
typedef Google__Bigtable__Admin__V2__Type__Aggregate__HyperLogLogPlusPlusUniqueCount Hll;

#define KIND(name)       GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_##name
#define AGGREGATOR(name) GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_##name
#define INT64_CASE(name) GOOGLE__BIGTABLE__ADMIN__V2__TYPE__INT64__ENCODING__ENCODING_##name
#define RAW_CASE         GOOGLE__BIGTABLE__ADMIN__V2__TYPE__BYTES__ENCODING__ENCODING_RAW

/* --- to edubba.h ------------------------------------------------------------------------------ */

/* Without an encoding it is the one that there is. */
static bool is_big_endian_int64(const Type *type)
{
    if (type == NULL || type->kind_case != KIND(INT64_TYPE)) {
        return false;
    }
    const Int64Encoding *encoding = type->int64_type->encoding;
    return encoding == NULL || encoding->encoding_case != INT64_CASE(ORDERED_CODE_BYTES);
}

static bool is_bytes(const Type *type)
{
    return type != NULL && type->kind_case == KIND(BYTES_TYPE);
}

static enum status convert_of_int64(const Aggregate *aggregate,
                                    enum edubba_aggregate wanted,
                                    enum edubba_aggregate *ret_aggregate,
                                    struct error *ret_error)
{
    if (!is_big_endian_int64(aggregate->input_type)) {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT,
            "Error in field 'input_type' : sum, min and max take int64_type, encoded as "
            "big_endian_bytes");
    }
    *ret_aggregate = wanted;
    return STATUS_OK;
}

static enum status convert_unique_count(const Aggregate *aggregate,
                                        enum edubba_aggregate *ret_aggregate,
                                        struct error *ret_error)
{
    if (is_big_endian_int64(aggregate->input_type)) {
        *ret_aggregate = EDUBBA_INTHLL;
        return STATUS_OK;
    }
    if (is_bytes(aggregate->input_type)) {
        *ret_aggregate = EDUBBA_BYTESHLL;
        return STATUS_OK;
    }
    if (aggregate->input_type == NULL || aggregate->input_type->kind_case == KIND(_NOT_SET)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'input_type' : must be set");
    }
    return error_set(ret_error, STATUS_UNIMPLEMENTED,
                     "Error in field 'input_type' : hllpp_unique_count is served of int64_type "
                     "(big_endian_bytes) and bytes_type");
}

static enum status convert_aggregate(const Aggregate *aggregate,
                                     enum edubba_aggregate *ret_aggregate,
                                     struct error *ret_error)
{
    switch ((int)aggregate->aggregator_case) {
    case AGGREGATOR(SUM):
        return convert_of_int64(aggregate, EDUBBA_INTSUM, ret_aggregate, ret_error);
    case AGGREGATOR(MIN):
        return convert_of_int64(aggregate, EDUBBA_INTMIN, ret_aggregate, ret_error);
    case AGGREGATOR(MAX):
        return convert_of_int64(aggregate, EDUBBA_INTMAX, ret_aggregate, ret_error);
    case AGGREGATOR(HLLPP_UNIQUE_COUNT):
        return convert_unique_count(aggregate, ret_aggregate, ret_error);
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'aggregate_type' : must have an aggregator");
    }
}

enum status convert_value_type(const Type *type,
                               enum edubba_aggregate *ret_aggregate,
                               struct error *ret_error)
{
    if (type == NULL || type->kind_case == KIND(_NOT_SET) || is_bytes(type)) {
        *ret_aggregate = EDUBBA_PLAIN;
        return STATUS_OK;
    }
    if (type->kind_case == KIND(AGGREGATE_TYPE)) {
        return convert_aggregate(type->aggregate_type, ret_aggregate, ret_error);
    }
    return error_set(ret_error, STATUS_UNIMPLEMENTED,
                     "Error in field 'value_type' : aggregate_type and bytes_type are served");
}

/* --- and back --------------------------------------------------------------------------------- */

/* An aggregate has one form; encoding only reads it. */

static BigEndianBytes BIG_ENDIAN =
    GOOGLE__BIGTABLE__ADMIN__V2__TYPE__INT64__ENCODING__BIG_ENDIAN_BYTES__INIT;
static Int64Encoding INT64_ENCODING = {
    .base = PROTOBUF_C_MESSAGE_INIT(
        &google__bigtable__admin__v2__type__int64__encoding__descriptor),
    .encoding_case = INT64_CASE(BIG_ENDIAN_BYTES),
    .big_endian_bytes = &BIG_ENDIAN,
};
static Int64 INT64 = {
    .base = PROTOBUF_C_MESSAGE_INIT(&google__bigtable__admin__v2__type__int64__descriptor),
    .encoding = &INT64_ENCODING,
};
static Type INT64_TYPE = {
    .base = PROTOBUF_C_MESSAGE_INIT(&google__bigtable__admin__v2__type__descriptor),
    .kind_case = KIND(INT64_TYPE),
    .int64_type = &INT64,
};

static Raw RAW = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__BYTES__ENCODING__RAW__INIT;
static BytesEncoding BYTES_ENCODING = {
    .base = PROTOBUF_C_MESSAGE_INIT(
        &google__bigtable__admin__v2__type__bytes__encoding__descriptor),
    .encoding_case = RAW_CASE,
    .raw = &RAW,
};
static Bytes BYTES = {
    .base = PROTOBUF_C_MESSAGE_INIT(&google__bigtable__admin__v2__type__bytes__descriptor),
    .encoding = &BYTES_ENCODING,
};
static Type BYTES_TYPE = {
    .base = PROTOBUF_C_MESSAGE_INIT(&google__bigtable__admin__v2__type__descriptor),
    .kind_case = KIND(BYTES_TYPE),
    .bytes_type = &BYTES,
};

static Sum SUM = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__SUM__INIT;
static Min MIN = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__MIN__INIT;
static Max MAX = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__MAX__INIT;
static Hll HLL =
    GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__HYPER_LOG_LOG_PLUS_PLUS_UNIQUE_COUNT__INIT;

#define AGGREGATE_OF(input, state, name, field, object)                                    \
    {                                                                                      \
        .base = PROTOBUF_C_MESSAGE_INIT(                                                   \
            &google__bigtable__admin__v2__type__aggregate__descriptor),                    \
        .input_type = (input), .state_type = (state), .aggregator_case = AGGREGATOR(name), \
        .field = (object),                                                                 \
    }

static Aggregate AGGREGATES[] = {
    [EDUBBA_INTSUM] = AGGREGATE_OF(&INT64_TYPE, &INT64_TYPE, SUM, sum, &SUM),
    [EDUBBA_INTMIN] = AGGREGATE_OF(&INT64_TYPE, &INT64_TYPE, MIN, min, &MIN),
    [EDUBBA_INTMAX] = AGGREGATE_OF(&INT64_TYPE, &INT64_TYPE, MAX, max, &MAX),
    [EDUBBA_INTHLL] = AGGREGATE_OF(
        &INT64_TYPE, &BYTES_TYPE, HLLPP_UNIQUE_COUNT, hllpp_unique_count, &HLL),
    [EDUBBA_BYTESHLL] = AGGREGATE_OF(
        &BYTES_TYPE, &BYTES_TYPE, HLLPP_UNIQUE_COUNT, hllpp_unique_count, &HLL),
};

#define TYPE_OF(aggregate)                                                               \
    {                                                                                    \
        .base = PROTOBUF_C_MESSAGE_INIT(&google__bigtable__admin__v2__type__descriptor), \
        .kind_case = KIND(AGGREGATE_TYPE), .aggregate_type = &AGGREGATES[aggregate],     \
    }

static Type TYPES[] = {
    [EDUBBA_INTSUM] = TYPE_OF(EDUBBA_INTSUM),     [EDUBBA_INTMIN] = TYPE_OF(EDUBBA_INTMIN),
    [EDUBBA_INTMAX] = TYPE_OF(EDUBBA_INTMAX),     [EDUBBA_INTHLL] = TYPE_OF(EDUBBA_INTHLL),
    [EDUBBA_BYTESHLL] = TYPE_OF(EDUBBA_BYTESHLL),
};

Type *convert_value_type_back(enum edubba_aggregate aggregate)
{
    return aggregate == EDUBBA_PLAIN ? NULL : &TYPES[aggregate];
}

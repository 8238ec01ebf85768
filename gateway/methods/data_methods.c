#include "gateway/methods/data_methods.h"

#include "data.pb-c.h"
#include "gateway/methods/instance_calls.h"
#include "gateway/methods/read/read_rows.h"
#include "gateway/methods/read/sample_row_keys.h"
#include "gateway/methods/unserved.h"
#include "gateway/methods/write/check_and_mutate_row.h"
#include "gateway/methods/write/mutate_row.h"
#include "gateway/methods/write/mutate_rows.h"
#include "gateway/methods/write/read_modify_write_row.h"

#define PATH(method)     "/google.bigtable.v2.Bigtable/" method
#define REQUEST(message) &google__bigtable__v2__##message##_request__descriptor

const struct rpc_method *data_methods(size_t *ret_count)
{
    static const struct rpc_method methods[] = {
        {PATH("ReadRows"), REQUEST(read_rows), read_rows},
        {PATH("SampleRowKeys"), REQUEST(sample_row_keys), sample_row_keys},
        {PATH("MutateRow"), REQUEST(mutate_row), mutate_row},
        {PATH("MutateRows"), REQUEST(mutate_rows), mutate_rows},
        {PATH("CheckAndMutateRow"), REQUEST(check_and_mutate_row), check_and_mutate_row},
        {PATH("PingAndWarm"), REQUEST(ping_and_warm), ping_and_warm},
        {PATH("ReadModifyWriteRow"), REQUEST(read_modify_write_row), read_modify_write_row},
        {PATH("GenerateInitialChangeStreamPartitions"), NULL,
         generate_initial_change_stream_partitions},
        {PATH("ReadChangeStream"), NULL, read_change_stream},
        {PATH("PrepareQuery"), NULL, prepare_query},
        {PATH("ExecuteQuery"), NULL, execute_query},
        {PATH("GetClientConfiguration"), REQUEST(get_client_configuration),
         get_client_configuration},
    };
    *ret_count = sizeof methods / sizeof *methods;
    return methods;
}

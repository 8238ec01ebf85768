#include "tabletserver/storage/store/load_counters.h"

bool load_counters_are_wanted = true;

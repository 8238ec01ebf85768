#include "tabletserver/storage/load_counters.h"

bool load_counters_are_wanted = true;

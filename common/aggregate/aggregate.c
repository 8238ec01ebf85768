#include "common/aggregate/aggregate.h"

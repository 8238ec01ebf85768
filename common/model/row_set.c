#include "common/model/row_set.h"

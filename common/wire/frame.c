#include "common/base/bytes.h"

#include "common/wire/frame.h"

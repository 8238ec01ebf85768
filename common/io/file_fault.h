/*
 * Inside common/io only: the question file.c asks before each write, sync and allocation.
 * What tests arm is in file.h.
 */
#ifndef COMMON_IO_FILE_FAULT_H
#define COMMON_IO_FILE_FAULT_H

#include "common/io/file.h"

/* 0, or the errno with which this operation must fail. */
int file_fault_due(enum file_operation operation);

/* Whether a failing write puts down half of its bytes. */
bool file_fault_is_short(void);

#endif /* COMMON_IO_FILE_FAULT_H */

/*
 * Which Edubba this is.
 */
#ifndef COMMON_IO_BUILD_INFO_H
#define COMMON_IO_BUILD_INFO_H

/* Have it told among the metrics: the gauge edubba_build_info, always 1, with the version and the commit as labels.
 * More than once is fine.  Thread rule: any thread. */
void build_info_tell(void);

#endif /* COMMON_IO_BUILD_INFO_H */

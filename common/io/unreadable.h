/*
 * A page of a mapped file that cannot be read ends the process with SIGBUS: its disk does not read it, or it lies behind
 * the file's end, as what led there is damaged.  So it is with data.mdb, which LMDB maps.  Without a word nobody would know
 * which disk it is: so the file is named on stderr first, and the process ends as it would have.
 */
#ifndef COMMON_IO_UNREADABLE_H
#define COMMON_IO_UNREADABLE_H

/* From now on, in all threads.  Once in a process. */
void unreadable_tell(void);

#endif /* COMMON_IO_UNREADABLE_H */

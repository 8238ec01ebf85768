/*
 * Answers that go out together.
 *
 * libgrpc hands each answer to the kernel by itself (sendmsg), as soon as it is started, and has no
 * way to be told that more will follow at once.  Over TCP each is a packet then, for which the
 * receiver is woken.  So the program has a sendmsg() of its own, which libgrpc calls in libc's
 * place: while a thread says that more follows, what it sends is handed on with MSG_MORE, and the
 * kernel gathers it.
 *
 *     for each answer:
 *         send_together_more(is another one behind it?);
 *         ... start it
 *     send_together_flush();
 *
 * What a thread does not say holds for nobody but itself: sendmsg() is libc's for all others.
 *
 * Nothing is held back for long whatever happens: the kernel sends it after 200 ms.
 *
 * Thread rule: any thread, each for itself.
 */
#ifndef GATEWAY_RPC_SEND_TOGETHER_H
#define GATEWAY_RPC_SEND_TOGETHER_H

#include <stdbool.h>

/* From now on this thread will send more at once, or not. */
void send_together_more(bool follows);

/* Nothing follows, and what was held back goes. */
void send_together_flush(void);

#endif /* GATEWAY_RPC_SEND_TOGETHER_H */

/* safe: a safe point, which the user has chosen: a thread of the host's that asks for an action and waits for it.
 *
 * The worker carries it out, so nothing of ours is opened in the host's descriptor table and the thread's stack may be
 * small; the thread does only what it alone can do: when the worker says so it empties its own caches in the allocator
 * that is being asked. */
#ifndef GIVEBACK_SAFE_H
#define GIVEBACK_SAFE_H

#include <stdint.h>

/* Host thread, in no allocator and holding no lock that one needs. Returns when the event has been carried out, or when
 * that is not to be had (restricted process, no thread to be made, half a minute without progress). errno is kept.
 * Within another one's own work (a function that GIVEBACK_CALL names, an allocator's hook) nothing is done. */
void safe_point(unsigned event);
/* The same for POST_CALL_RELEASE and POST_CALL_MARK: what the worker has left as the result; 0: it was not carried out. The label
 * is copied; NULL: none. */
int safe_call(unsigned event, const char *label);
/* RssAnon, read by the worker; PROCFS_UNKNOWN. */
int64_t safe_anon(void);

#endif

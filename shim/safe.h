/* safe: a safe point, which the user has chosen: a thread of the host's that asks for an action and waits for it.
 *
 * The worker carries it out, so nothing of ours is opened in the host's descriptor table and the thread's stack may be
 * small; the thread does only what it alone can do: when the worker says so it empties its own caches in the allocator
 * that is being asked. */
#ifndef GIVEBACK_SAFE_H
#define GIVEBACK_SAFE_H

/* Host thread, in no allocator and holding no lock that one needs. Returns when the event has been carried out, or when
 * that is not to be had (restricted process, no thread to be made, half a minute without progress). errno is kept. */
void safe_point(unsigned event);

#endif

/* wrap_restrict: prctl, by which a process restricts itself. The worker is gone before a filter of system calls can reach
 * it, since it would be killed for the first one that is not on the host's list; it comes back after a call that fails. Whoever is not privileged has to set
 * no_new_privs for seccomp and for landlock; state_restricted() sees that no other worker starts. Host threads. */
#include <linux/prctl.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "post.h"
#include "real.h"
#include "signal.h"
#include "worker.h"

__attribute__((visibility("default"))) int prctl(int option, ...)
{
    struct post *p = option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP ? post_own() : NULL;
    unsigned long a[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++) /* as libc's does, whatever number was given */
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (p)
        worker_hold(p);
    int r = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    if (p && r != 0) /* a program that only asks whether the kernel has filters, say */
        signal_allow_worker(p);
    else if (p)
        worker_release(p);
    return r;
}

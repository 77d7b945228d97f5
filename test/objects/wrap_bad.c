/* An interposed function and a handler that do what they must not; scripts/check-objects --self-test must find it.
 * expect: handler_bad -> safe_point
 * expect: siginterrupt_bad -> release_run
 * expect: table_bad -> record_text
 * expect: handler_bad -> pthread_mutex_lock
 * expect: wrap_bad.o: handler_bad -> malloc
 * expect: wrap_bad.o: handler_bad -> exit
 * expect: wrap_bad.o: siginterrupt_bad -> printf
 * expect: by siginterrupt_bad
 * expect: its address is taken in siginterrupt_bad
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"
#include "release.h"
#include "safe.h"

int siginterrupt_bad(int number, int flag);
static pthread_mutex_t lock_bad = PTHREAD_MUTEX_INITIALIZER;

/* As worker.c has them; the names are what counts. */
static __attribute__((noinline)) void *worker_main(void *record)
{
    release_run(record, NULL);
    return NULL;
}

/* Nothing calls record_text here, but a handler that knows a table can. */
static size_t (*const table_bad[])(const struct record *, char *, size_t) = {record_text, record_json};

static void handler_bad(int number)
{
    static struct record record;
    char *line = malloc(100);

    pthread_mutex_lock(&lock_bad);
    safe_point(1);
    if (table_bad[number & 1](&record, line, 100) > 10)
        exit(1);
}

int siginterrupt_bad(int number, int flag)
{
    static struct record record;
    static void *(*kept)(void *);

    __atomic_store_n(&kept, worker_main, __ATOMIC_SEQ_CST);
    worker_main(&record);
    release_run(&record, NULL);
    printf("%d\n", flag);
    return signal(number, handler_bad) == SIG_ERR;
}

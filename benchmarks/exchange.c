/* A bare exchange between two processes in C: the yardstick of exchange.py.
 *
 *     exchange udp|memory TURNS
 *
 * It ends after so many turns, or when it is terminated.  One process sends a datagram as long as a command of one axis, the other answers with one as long as a measurement.
 * Nothing is computed, checked or recorded.  Both wait as the package's ends do: watch for SPIN, then sleep until
 * something comes (UDP), or NAP at a time (shared memory).  On standard output, as doubles, the time of every exchange
 * [s].  SCHED_FIFO and locked memory where the system permits. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND = 80, MEASUREMENT = 88, ROOM = 1088, SPIN = 30000, NAP = 20000 };
enum { CONTROLLER_PRIORITY = 80, RIG_PRIORITY = 70 };

struct box {
    _Atomic int64_t counter;
    int64_t length;
    char content[ROOM];
};

struct end {
    int fd; /* -1: shared memory */
    struct box *in, *out;
    int64_t taken;
};

static volatile sig_atomic_t over;

static void end(int signal)
{
    (void)signal;
    over = 1;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return INT64_C(1000000000) * t.tv_sec + t.tv_nsec;
}

static void put(struct end *e, const char *data, size_t length)
{
    if (e->fd >= 0) {
        if (send(e->fd, data, length, MSG_NOSIGNAL) < 0) _exit(4);
        return;
    }
    int64_t counter = atomic_load_explicit(&e->out->counter, memory_order_relaxed);
    atomic_store_explicit(&e->out->counter, counter + 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    e->out->length = (int64_t)length;
    memcpy(e->out->content, data, length);
    atomic_store_explicit(&e->out->counter, counter + 2, memory_order_release);
}

static int taken(struct end *e, char *data)
{
    if (e->fd >= 0) return recv(e->fd, data, ROOM, MSG_DONTWAIT) > 0;
    int64_t counter = atomic_load_explicit(&e->in->counter, memory_order_acquire);
    if (counter & 1 || counter == e->taken) return 0;
    memcpy(data, e->in->content, (size_t)e->in->length);
    atomic_thread_fence(memory_order_seq_cst);
    e->taken = counter;
    return 1;
}

static void take(struct end *e, char *data)
{
    int64_t start = now();
    while (!taken(e, data) && !over) {
        int watch = now() - start < SPIN;
        if (watch) continue;
        if (e->fd >= 0) {
            struct pollfd p = {e->fd, POLLIN, 0};
            poll(&p, 1, -1);
        } else {
            const struct timespec nap = {0, NAP};
            nanosleep(&nap, NULL);
        }
    }
}

/* With a processor of its own: the first one, or the last one. */
static void in_real_time(int priority, int last)
{
    const struct sched_param p = {.sched_priority = priority};
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int cpu = -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && (last || cpu < 0)) cpu = i;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    sched_setscheduler(0, SCHED_FIFO, &p);
}

/* Two sockets of the loopback, each connected to the other. */
static void connect_pair(int fd[2])
{
    struct sockaddr_in at[2];
    socklen_t size = sizeof at[0];
    for (int i = 0; i < 2; i++) {
        at[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&at[i], size) != 0) exit(3);
        getsockname(fd[i], (struct sockaddr *)&at[i], &size);
    }
    for (int i = 0; i < 2; i++)
        if (connect(fd[i], (struct sockaddr *)&at[1 - i], size) != 0) exit(3);
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "udp") != 0 && strcmp(argv[1], "memory") != 0)) {
        fprintf(stderr, "usage: exchange udp|memory TURNS\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may have been stopped by whom it now would wait for */
    const long turns = atol(argv[2]);
    double *each = calloc((size_t)turns, sizeof *each);
    int fd[2] = {-1, -1};
    struct box *boxes = mmap(NULL, 2 * sizeof *boxes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (each == NULL || boxes == MAP_FAILED) return 3;
    if (strcmp(argv[1], "udp") == 0) connect_pair(fd);
    char data[ROOM] = {0};
    const pid_t rig = fork();
    if (rig < 0) return 3;
    if (rig == 0) {
        struct end e = {fd[1], &boxes[0], &boxes[1], 0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        in_real_time(RIG_PRIORITY, 1);
        for (long i = 0; i < turns; i++) {
            take(&e, data);
            put(&e, data, MEASUREMENT);
        }
        _exit(0);
    }
    struct end e = {fd[0], &boxes[1], &boxes[0], 0};
    signal(SIGTERM, end);
    in_real_time(CONTROLLER_PRIORITY, 0);
    int64_t before = now();
    size_t done = 0;
    for (; done < (size_t)turns && !over; done++) {
        put(&e, data, COMMAND);
        take(&e, data);
        const int64_t time = now();
        each[done] = 1e-9 * (double)(time - before);
        before = time;
    }
    kill(rig, SIGKILL);
    waitpid(rig, NULL, 0);
    return fwrite(each, sizeof *each, done, stdout) == done ? 0 : 5;
}

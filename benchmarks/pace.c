/* The loop of loop.c in real time, as a program of its own: the yardstick of latency.py.
 *
 *     pace PERIOD SPIN TICKS PRIORITY PARAMETERS
 *
 * Period and spin in nanoseconds.  On standard input PARAMETERS doubles, `struct parameters` of loop.c, then a byte for
 * each turn that it is to run.  On standard output, after a turn, as doubles, rows of lateness [s], execution time [s]
 * and overruns so far, from the second row of the record on.  It keeps time as the package's block "pace" does: absolute
 * deadlines, sleep until SPIN before one, then watch the clock; a tick that was missed runs at once.  SCHED_FIFO and
 * locked memory where the system permits, as there. */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "loop.c"

enum { BINS = 512, PER_OCTAVE = 16, PACED = 3, COLUMNS = 1 + CHANNELS + PACED, ROOM = 4096 };

struct pace {
    int64_t period, spin, deadline, woke;
    double lateness, execution, overruns; /* channels */
    double ticks, execution_sum, execution_max, lateness_max;
    double lateness_histogram[BINS], execution_histogram[BINS];
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return INT64_C(1000000000) * t.tv_sec + t.tv_nsec;
}

static int64_t wait_until(int64_t deadline, int64_t spin)
{
    int64_t time = now();
    if (deadline - time > spin) {
        int64_t wake = deadline - spin;
        struct timespec t = {wake / INT64_C(1000000000), wake % INT64_C(1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        time = now();
    }
    while (time < deadline) time = now();
    return time;
}

static void note(double *histogram, double nanoseconds)
{
    int place = (int)(PER_OCTAVE * log2(fmax(nanoseconds, 1.0)));
    histogram[place < BINS ? place : BINS - 1] += 1.0;
}

static void keep_time(struct pace *s)
{
    int64_t called = now();
    if (s->ticks == 0.0) {
        s->deadline = s->woke = called;
    } else {
        double execution = (double)(called - s->woke);
        s->execution_sum += execution;
        s->execution_max = fmax(s->execution_max, execution);
        note(s->execution_histogram, execution);
        s->execution = 1e-9 * execution;
    }
    s->deadline += s->period;
    int64_t late = called - s->deadline;
    s->woke = wait_until(s->deadline, s->spin);
    double lateness = (double)(late > 0 ? late : s->woke - s->deadline);
    s->ticks += 1.0;
    s->lateness_max = fmax(s->lateness_max, lateness);
    note(s->lateness_histogram, lateness);
    if (late > 0) s->overruns += 1.0;
    s->lateness = 1e-9 * lateness;
}

/* One turn of `ticks` ticks from rest; 0 if the guard let all of them pass. */
static int turn(const struct parameters *p, struct pace *clock, int64_t ticks, double (*log)[COLUMNS])
{
    static double events[ROOM][3];
    int64_t counts[2] = {0, 0};
    struct state s = {0};
    struct bus b = {0};
    for (int64_t row = 0; row < ticks; row++) { /* as run() in loop.c */
        double t = s.tick * p->dt;
        excite(p, t, &b);
        start_up(&b);
        integrate(p, &s, &b);
        predict(p, &s, &b);
        weigh_error(p, &s, &b);
        guard(p, &s, &b);
        note_events(&s, &b, events, ROOM, counts);
        log[row][0] = t;
        memcpy(log[row] + 1, &b, sizeof b);
        memcpy(log[row] + 1 + CHANNELS, &clock->lateness, PACED * sizeof(double));
        actuate(p, &s, &b);
        resist(p, &b);
        b.measured_displacement = sensed(p, 0, b.displacement);
        b.measured_force = sensed(p, 1, b.force);
        keep_time(clock);
        s.tick += 1.0;
        if (s.mode != RUNNING) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct parameters p;
    static struct pace clock;
    if (argc != 6) {
        fprintf(stderr, "usage: pace PERIOD SPIN TICKS PRIORITY PARAMETERS, with these on standard input\n");
        return 2;
    }
    if (atoll(argv[5]) != parameters_size() || fread(&p, sizeof p, 1, stdin) != 1) {
        fprintf(stderr, "pace: %s parameters where loop.c expects %lld; bring loop.c up to date\n", argv[5],
                (long long)parameters_size());
        return 2;
    }
    const int64_t ticks = atoll(argv[3]);
    double(*log)[COLUMNS] = calloc((size_t)ticks, sizeof *log);
    if (log == NULL) return 3;
    memset(log, 1, (size_t)ticks * sizeof *log); /* every page is there before the loop starts */
    mlockall(MCL_CURRENT | MCL_FUTURE);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    const struct sched_param priority = {.sched_priority = atoi(argv[4])};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    while (getchar() != EOF) {
        memset(&clock, 0, sizeof clock);
        clock.period = atoll(argv[1]);
        clock.spin = atoll(argv[2]);
        if (turn(&p, &clock, ticks, log) != 0) return 4;
        for (int64_t row = 1; row < ticks; row++) fwrite(log[row] + 1 + CHANNELS, sizeof(double), PACED, stdout);
        if (fflush(stdout) != 0) return 5;
    }
    return 0;
}

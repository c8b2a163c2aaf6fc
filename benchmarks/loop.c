/* The loop of examples/spring_mass_damper/forward_prediction.toml, written by hand in C: the yardstick of run.py.
 *
 * It does what the compiled loop of the package does in the same order, tick by tick: excitation, start-up, virtual
 * substructure, prediction, energy error, guard, events, record, actuator, specimen, sensors.  Sizes are constants and the
 * blocks are static functions that the compiler inlines, as one would write it for this one test.
 *
 * `struct parameters` and `struct state` hold doubles only; run.py fills the first with the numbers of the package's
 * blocks.  Matrices are transposed, m[column][row]. */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { STATES = 2, INPUTS = 3, POINTS = 12, LENGTH = 11, TAPS = 4, WATCHED = 11, SENSORS = 2, CHANNELS = 26, EVENTS = 4 };
enum { RUNNING = 0, TRIPPED = 1, FINISHED = 2 };

struct parameters {
    double dt;
    double amplitude, ramp, omega, phase;
    double transition[STATES][STATES], earlier[INPUTS][STATES], later[INPUTS][STATES];
    double outputs[STATES], direct[INPUTS];
    double weights[POINTS];
    double fading, floor;
    double trip[WATCHED], warn[WATCHED], smoothing, returns, return_time, after, safe;
    double first, taps[3][TAPS], stroke, travel;
    double stiffness, damping, mass, excited;
    double resolution[SENSORS], range[SENSORS];
};

/* All channels in the order of the record. */
struct bus {
    double fault, request, rig_fault, excitation, excitation_rate, feedback, start_up_mode, target, asked, energy, command, gap;
    double mode, cause, value, warning, halted, rig_command, displacement, velocity, acceleration;
    double pushed, pushed_rate, force, measured_displacement, measured_force;
};

struct state {
    double tick;
    double x[STATES], u[INPUTS], started;
    double targets[POINTS], predicting;
    double measuring, error, exchanged, target, measured, force;
    double mode, cause, value, elapsed, applied, held, before, velocity, lag, peaks[WATCHED];
    double last[SENSORS], repeats[SENSORS], varies[SENSORS];
    double commands[LENGTH];
    double position, speed;
    double seen[EVENTS];
};

int64_t parameters_size(void) { return sizeof(struct parameters) / sizeof(double); }

static double clipped(double value, double low, double high)
{
    value = value < low ? low : value;
    return value > high ? high : value;
}

static void excite(const struct parameters *p, double t, struct bus *b)
{
    double g = 1.0, dg = 0.0;
    if (t < p->ramp) {
        double w = M_PI / p->ramp;
        g = t <= 0.0 ? 0.0 : 0.5 * (1.0 - cos(w * t));
        dg = t <= 0.0 ? 0.0 : 0.5 * w * sin(w * t);
    }
    double a = p->omega * t + p->phase;
    b->excitation = p->amplitude * g * sin(a);
    b->excitation_rate = p->amplitude * (dg * sin(a) + g * p->omega * cos(a));
}

static void start_up(struct bus *b)
{
    b->feedback = b->measured_force;
    b->start_up_mode = 0.0;
}

static void integrate(const struct parameters *p, struct state *s, struct bus *b)
{
    const double u[INPUTS] = {b->excitation, b->excitation_rate, b->feedback};
    if (s->started == 0.0) {
        s->started = 1.0;
    } else {
        double next[STATES];
        for (int i = 0; i < STATES; i++) {
            double sum = 0.0;
            for (int j = 0; j < STATES; j++) sum += p->transition[j][i] * s->x[j];
            for (int j = 0; j < INPUTS; j++) sum += p->earlier[j][i] * s->u[j];
            for (int j = 0; j < INPUTS; j++) sum += p->later[j][i] * u[j];
            next[i] = sum;
        }
        memcpy(s->x, next, sizeof next);
    }
    memcpy(s->u, u, sizeof u);
    double target = 0.0;
    for (int j = 0; j < STATES; j++) target += p->outputs[j] * s->x[j];
    for (int j = 0; j < INPUTS; j++) target += p->direct[j] * u[j];
    b->target = target;
}

static void predict(const struct parameters *p, struct state *s, struct bus *b)
{
    if (s->predicting == 0.0) {
        for (int j = 0; j < POINTS; j++) s->targets[j] = b->target;
        s->predicting = 1.0;
    }
    memmove(s->targets + 1, s->targets, (POINTS - 1) * sizeof(double));
    s->targets[0] = b->target;
    double asked = 0.0;
    for (int j = 0; j < POINTS; j++) asked += p->weights[j] * s->targets[j];
    b->asked = asked;
}

static void weigh_error(const struct parameters *p, struct state *s, struct bus *b)
{
    if (s->measuring == 0.0) {
        s->target = b->target;
        s->measured = b->measured_displacement;
        s->force = b->measured_force;
        s->measuring = 1.0;
    }
    double mean = 0.5 * (b->measured_force + s->force), moved = b->measured_displacement - s->measured;
    s->error = p->fading * s->error + mean * (moved - (b->target - s->target));
    s->exchanged = p->fading * s->exchanged + fabs(mean * moved);
    s->target = b->target;
    s->measured = b->measured_displacement;
    s->force = b->measured_force;
    b->energy = s->error / (s->exchanged + p->floor);
}

static double repeated_for(const struct parameters *p, struct state *s, int i, double value)
{
    s->repeats[i] = value == s->last[i] ? s->repeats[i] + 1.0 : 0.0;
    s->last[i] = value;
    return s->varies[i] != 0.0 ? s->repeats[i] * p->dt : 0.0;
}

static void guard(const struct parameters *p, struct state *s, struct bus *b)
{
    b->gap = b->target - b->measured_displacement;
    b->warning = 0.0;
    double velocity = s->velocity + p->smoothing * ((b->measured_displacement - s->before) / p->dt - s->velocity);
    double acceleration = (velocity - s->velocity) / p->dt;
    s->before = b->measured_displacement;
    s->velocity = velocity;
    if (s->mode == RUNNING) {
        double lag = fabs(s->applied - b->measured_displacement);
        s->lag = lag > s->lag ? lag : s->lag;
        const double watched[WATCHED] = {b->asked, (b->asked - s->applied) / p->dt, b->target,
                                         b->measured_displacement, b->measured_force, b->gap,
                                         velocity, acceleration, b->energy,
                                         repeated_for(p, s, 0, b->measured_displacement),
                                         repeated_for(p, s, 1, b->measured_force)};
        for (int i = WATCHED - 1; i >= 0; i--) {
            s->peaks[i] = fabs(watched[i]) > s->peaks[i] ? fabs(watched[i]) : s->peaks[i];
            if (!(fabs(watched[i]) <= p->warn[i])) b->warning = i + 1.0;
            if (!(fabs(watched[i]) <= p->trip[i])) {
                s->cause = i + 1.0;
                s->value = watched[i];
            }
        }
        if (b->fault != 0.0) s->cause = 999.0;
        if (s->cause == 0.0) {
            s->applied = b->asked;
        } else {
            s->mode = TRIPPED;
            s->elapsed = 0.0;
            s->held = s->applied;
        }
    } else {
        s->elapsed += p->dt;
        if (p->returns != 0.0) {
            double share = 0.5 * (1.0 + cos(M_PI * fmin(s->elapsed / p->return_time, 1.0)));
            s->applied = p->safe + share * (s->held - p->safe);
        }
        if (s->elapsed >= p->after) s->mode = FINISHED;
    }
    b->command = s->applied;
    b->mode = s->mode;
    b->cause = s->cause;
    b->value = s->value;
}

static void note_events(struct state *s, const struct bus *b, double (*events)[3], int64_t room, int64_t *counts)
{
    const double values[EVENTS] = {b->mode, b->cause, b->warning, b->halted};
    for (int i = 0; i < EVENTS; i++) {
        if (values[i] == s->seen[i]) continue;
        s->seen[i] = values[i];
        if (counts[0] < room) {
            double *event = events[counts[0]++];
            event[0] = s->tick;
            event[1] = i;
            event[2] = values[i];
        } else {
            counts[1]++;
        }
    }
}

static double weighted(const double *taps, const double *commands)
{
    double sum = 0.0;
    for (int k = 0; k < TAPS; k++) sum += taps[k] * commands[k];
    return sum;
}

static void actuate(const struct parameters *p, struct state *s, struct bus *b)
{
    memmove(s->commands + 1, s->commands, (LENGTH - 1) * sizeof(double));
    s->commands[0] = b->command;
    const double *commands = s->commands + (int)p->first;
    double c = weighted(p->taps[0], commands), v = weighted(p->taps[1], commands), a = weighted(p->taps[2], commands);
    double x = clipped(c, s->position - p->travel, s->position + p->travel);
    x = clipped(x, -p->stroke, p->stroke);
    if (x != c) {
        v = (x - s->position) / p->dt;
        a = (v - s->speed) / p->dt;
    }
    b->rig_command = c;
    b->displacement = x;
    b->velocity = v;
    b->acceleration = a;
    s->position = x;
    s->speed = v;
}

static void resist(const struct parameters *p, struct bus *b)
{
    b->pushed = b->pushed_rate = 0.0;
    double force = -p->excited * b->pushed;
    force += p->stiffness * b->displacement;
    force += p->damping * b->velocity;
    force += p->mass * b->acceleration;
    b->force = force;
}

static double sensed(const struct parameters *p, int i, double value)
{
    value = clipped(value, -p->range[i], p->range[i]);
    return p->resolution[i] > 0.0 ? p->resolution[i] * rint(value / p->resolution[i]) : value;
}

/* Runs `ticks` ticks from rest into `log` (ticks, 1 + CHANNELS); returns the number of ticks run. */
int64_t run(const struct parameters *p, int64_t ticks, double (*log)[1 + CHANNELS], double (*events)[3], int64_t room,
            int64_t *counts)
{
    struct state s = {0};
    struct bus b = {0};
    for (int64_t row = 0; row < ticks; row++) {
        double t = s.tick * p->dt;
        excite(p, t, &b);
        start_up(&b);
        integrate(p, &s, &b);
        predict(p, &s, &b);
        weigh_error(p, &s, &b);
        guard(p, &s, &b);
        note_events(&s, &b, events, room, counts);
        log[row][0] = t;
        memcpy(log[row] + 1, &b, sizeof b);
        actuate(p, &s, &b);
        resist(p, &b);
        b.measured_displacement = sensed(p, 0, b.displacement);
        b.measured_force = sensed(p, 1, b.force);
        s.tick += 1.0;
        if (s.mode == FINISHED) return row + 1;
    }
    return ticks;
}

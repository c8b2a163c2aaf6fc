/* An oscillator m x'' + c x' + k x + k3 x^3 = excitation - force as an FMU, FMI 2.0 or 3.0, both types, for tests.
 * Co-simulation: classical Runge-Kutta steps with inputs held, SUBSTEPS in one communication step.
 * EVENTS: with a stop of stiffness STOP from x = GAP on (a state event), pushed by PUSH from LATER on (a time event).
 * ONCE: one instance in a process.  CRASHES, HANGS: in its first step.  STALLS: 20 ms in every 300th step.
 * LEAKS: 64 bytes in every step.  ENDS: asks to end from 0.1005 s on.  WRONG: in its directional derivatives. */
#define _GNU_SOURCE
#include <time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#ifndef SUBSTEPS
#define SUBSTEPS 4
#endif
enum { M, C, K, K3, FORCE, EXCITATION, X, V, COUNT };
typedef struct { double value[COUNT]; double time; int contact, pushed, steps; const void *callbacks; } Model;
#define STOP 4000.0
#define GAP 2e-3
#define PUSH 10.0
#define LATER 0.1
static int alive;

static void start(Model *m)
{
    static const double values[COUNT] = {2.2, 15.0, 2250.0, 0.0};
    memcpy(m->value, values, sizeof values);
    m->time = 0.0;
    m->contact = m->pushed = m->steps = 0;
}
static void slope(const Model *m, const double *x, double *dx)
{
    const double *p = m->value;
    dx[0] = x[1];
    dx[1] = (p[EXCITATION] - p[FORCE] - p[C] * x[1] - p[K] * x[0] - p[K3] * x[0] * x[0] * x[0]) / p[M];
    dx[1] += ((m->pushed ? PUSH : 0.0) - (m->contact ? STOP * (x[0] - GAP) : 0.0)) / p[M];
}
/* discrete states; the time of the next event, or 0 */
static double settle(Model *m)
{
#ifdef EVENTS
    m->contact = m->value[X] > GAP;
    m->pushed = m->time >= LATER - 1e-9;
    return m->pushed ? 0.0 : LATER;
#else
    (void)m;
    return 0.0;
#endif
}
static void misbehave(Model *m)
{
    m->steps++;
#ifdef CRASHES
    *(volatile int *)8 = 1;
#endif
#ifdef HANGS
    for (;;) nanosleep(&(struct timespec){1, 0}, NULL);
#endif
#ifdef LEAKS
    if (!malloc(64)) abort();
#endif
#ifdef STALLS
    if (m->steps % 300 == 0) nanosleep(&(struct timespec){0, 20000000}, NULL);
#endif
}
static int step(Model *m, double length)
{
    double h = length / SUBSTEPS, k[4][2], at[2], *x = m->value + X;
    static const double node[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
    misbehave(m);
    if (m->value[FORCE] > 1e6) return 3;
    for (int part = 0; part < SUBSTEPS; part++) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 2; j++) at[j] = x[j] + (i ? h * node[i] * k[i - 1][j] : 0.0);
            slope(m, at, k[i]);
        }
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 4; i++) x[j] += h * weight[i] * k[i][j];
    }
    m->time += length;
    return 0;
}
/* what moves if one of the knowns is moved by one; DER are the references of the states' derivatives */
#define DER 98
static int directional(const Model *m, const unsigned *unknown, size_t n, const unsigned *known, size_t k, const double *seed, double *found)
{
    const double *p = m->value;
    double by[COUNT] = {0.0};
    for (size_t i = 0; i < k; i++) {
        if (known[i] < FORCE || known[i] >= COUNT) return 3;
        by[known[i]] = seed[i];
    }
    for (size_t i = 0; i < n; i++) {
        double stiffness = p[K] + 3.0 * p[K3] * p[X] * p[X];
        if (unknown[i] == DER) found[i] = by[V];
        else if (unknown[i] == DER + 1) found[i] = (by[EXCITATION] - by[FORCE] - p[C] * by[V] - stiffness * by[X]) / p[M];
        else if (unknown[i] == X || unknown[i] == V) found[i] = by[unknown[i]];
        else return 3;
#ifdef WRONG
        found[i] *= 1.1;
#endif
    }
    return 0;
}
static int set(Model *m, const unsigned *vr, size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= COUNT) return 3;
        m->value[vr[i]] = v[i];
    }
    return 0;
}
static int get(const Model *m, const unsigned *vr, size_t n, double *v)
{
    double dx[2];
    slope(m, m->value + X, dx);
    for (size_t i = 0; i < n; i++) {
        if (vr[i] == DER || vr[i] == DER + 1) { v[i] = dx[vr[i] - DER]; continue; }
        if (vr[i] >= COUNT) return 3;
        v[i] = m->value[vr[i]];
    }
    return 0;
}

#if FMI == 2
typedef struct { void (*logger)(void *, const char *, int, const char *, const char *, ...); void *(*calloc)(size_t, size_t);
                 void (*free)(void *); void (*done)(void *, int); void *env; } Callbacks;
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where, const Callbacks *given, int visible, int on)
{
    (void)type, (void)where, (void)visible, (void)on;
    if (strcmp(guid, "oscillator-1")) { given->logger(given->env, name, 3, "error", "wrong GUID"); return NULL; }
#ifdef ONCE
    if (alive++) { given->logger(given->env, name, 3, "error", "there is an instance already"); alive--; return NULL; }
#endif
    Model *m = given->calloc(1, sizeof *m);
    start(m);
    m->callbacks = given;
    return m;
}
void fmi2FreeInstance(void *m) { alive = 0; ((const Callbacks *)((Model *)m)->callbacks)->free(m); }
int fmi2Reset(void *m) { start(m); return 0; }
int fmi2SetupExperiment(void *m, int a, double b, double t, int d, double e) { (void)a, (void)b, (void)d, (void)e; ((Model *)m)->time = t; return 0; }
int fmi2EnterInitializationMode(void *m) { (void)m; return 0; }
int fmi2ExitInitializationMode(void *m) { (void)m; return 0; }
int fmi2Terminate(void *m) { (void)m; return 0; }
int fmi2SetReal(void *m, const unsigned *vr, size_t n, const double *v) { return set(m, vr, n, v); }
int fmi2GetReal(void *m, const unsigned *vr, size_t n, double *v) { return get(m, vr, n, v); }
int fmi2DoStep(void *m, double t, double h, int keep)
{
    (void)t, (void)keep;
    int status = step(m, h);
    const Callbacks *back = ((Model *)m)->callbacks;
    if (status) back->logger(back->env, "oscillator", status, "error", "the force is beyond 1e6 N");
    return status;
}
int fmi2SetTime(void *m, double t) { ((Model *)m)->time = t; return 0; }
int fmi2SetContinuousStates(void *m, const double *x, size_t n) { memcpy(((Model *)m)->value + X, x, n * sizeof *x); return 0; }
int fmi2GetContinuousStates(void *m, double *x, size_t n) { memcpy(x, ((Model *)m)->value + X, n * sizeof *x); return 0; }
int fmi2GetDerivatives(void *m, double *dx, size_t n) { (void)n; slope(m, ((Model *)m)->value + X, dx); return 0; }
int fmi2GetEventIndicators(void *m, double *z, size_t n) { if (n) z[0] = ((Model *)m)->value[X] - GAP; return 0; }
int fmi2CompletedIntegratorStep(void *m, int keep, int *enter, int *stop)
{
    (void)keep;
    *enter = *stop = 0;
#ifdef ENDS
    *stop = ((Model *)m)->time > 0.1005;
#else
    (void)m;
#endif
    return 0;
}
int fmi2EnterEventMode(void *m) { (void)m; return 0; }
typedef struct { int again, ends, nominals, values, known; double next; } Info;
int fmi2NewDiscreteStates(void *m, Info *info)
{
    double next = settle(m);
    *info = (Info){0, 0, 0, 1, next > 0.0, next};
    return 0;
}
int fmi2EnterContinuousTimeMode(void *m) { (void)m; return 0; }
int fmi2GetDirectionalDerivative(void *m, const unsigned *unknown, size_t n, const unsigned *known, size_t k, const double *seed, double *found)
{ return directional(m, unknown, n, known, k, seed, found); }
/* what the standard wants to be there, and nobody calls */
#define STUB(NAME) int fmi2##NAME(void) { return 3; }
STUB(SetDebugLogging) STUB(GetInteger) STUB(GetBoolean) STUB(GetString) STUB(SetInteger)
STUB(SetBoolean) STUB(SetString) STUB(GetFMUstate) STUB(SetFMUstate) STUB(FreeFMUstate)
STUB(SerializedFMUstateSize) STUB(SerializeFMUstate) STUB(DeSerializeFMUstate) STUB(SetRealInputDerivatives)
STUB(GetRealOutputDerivatives) STUB(CancelStep) STUB(GetStatus) STUB(GetRealStatus) STUB(GetIntegerStatus)
STUB(GetBooleanStatus) STUB(GetStringStatus) STUB(GetNominalsOfContinuousStates)
#else
typedef void (*Log)(void *, int, const char *, const char *);
static Log log_; static void *env_;
const char *fmi3GetVersion(void) { return "3.0"; }
static void *made(const char *token, void *env, Log log)
{
    log_ = log; env_ = env;
    if (strcmp(token, "oscillator-1")) { log(env, 3, "error", "wrong token"); return NULL; }
    Model *m = calloc(1, sizeof *m);
    start(m);
    return m;
}
void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *w, bool a, bool b, bool c, bool d, const unsigned *r, size_t k, void *env, Log log, void *u)
{ (void)n, (void)w, (void)a, (void)b, (void)c, (void)d, (void)r, (void)k, (void)u; return made(token, env, log); }
void *fmi3InstantiateModelExchange(const char *n, const char *token, const char *w, bool a, bool b, void *env, Log log)
{ (void)n, (void)w, (void)a, (void)b; return made(token, env, log); }
void fmi3FreeInstance(void *m) { free(m); }
int fmi3Reset(void *m) { start(m); return 0; }
int fmi3EnterInitializationMode(void *m, bool a, double b, double t, bool d, double e) { (void)a, (void)b, (void)d, (void)e; ((Model *)m)->time = t; return 0; }
int fmi3ExitInitializationMode(void *m) { (void)m; return 0; }
int fmi3Terminate(void *m) { (void)m; return 0; }
int fmi3SetFloat64(void *m, const unsigned *vr, size_t n, const double *v, size_t k) { return n == k ? set(m, vr, n, v) : 3; }
int fmi3GetFloat64(void *m, const unsigned *vr, size_t n, double *v, size_t k) { return n == k ? get(m, vr, n, v) : 3; }
int fmi3DoStep(void *m, double t, double h, bool keep, bool *event, bool *stop, bool *early, double *last)
{
    (void)keep;
    *event = *stop = *early = false;
    *last = t + h;
    int status = step(m, h);
    if (status) log_(env_, status, "error", "the force is beyond 1e6 N");
    return status;
}
int fmi3SetTime(void *m, double t) { ((Model *)m)->time = t; return 0; }
int fmi3SetContinuousStates(void *m, const double *x, size_t n) { memcpy(((Model *)m)->value + X, x, n * sizeof *x); return 0; }
int fmi3GetContinuousStates(void *m, double *x, size_t n) { memcpy(x, ((Model *)m)->value + X, n * sizeof *x); return 0; }
int fmi3GetContinuousStateDerivatives(void *m, double *dx, size_t n) { (void)n; slope(m, ((Model *)m)->value + X, dx); return 0; }
int fmi3GetEventIndicators(void *m, double *z, size_t n) { if (n) z[0] = ((Model *)m)->value[X] - GAP; return 0; }
int fmi3CompletedIntegratorStep(void *m, bool keep, bool *enter, bool *stop) { (void)m, (void)keep; *enter = *stop = false; return 0; }
int fmi3EnterEventMode(void *m) { (void)m; return 0; }
int fmi3UpdateDiscreteStates(void *m, bool *a, bool *b, bool *c, bool *d, bool *e, double *t) { *a = *b = *c = false; *d = true; *t = settle(m); *e = *t > 0.0; return 0; }
int fmi3EnterContinuousTimeMode(void *m) { (void)m; return 0; }
int fmi3GetDirectionalDerivative(void *m, const unsigned *unknown, size_t n, const unsigned *known, size_t k, const double *seed, size_t a, double *found, size_t b)
{ return a == k && b == n ? directional(m, unknown, n, known, k, seed, found) : 3; }
#endif

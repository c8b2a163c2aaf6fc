/* An oscillator with a viscous damper whose force grows with a power of the speed, as an FMU of FMI 2.0, model exchange:
 *
 *     m x'' + c x' + F_r |x'/v_r|^alpha sgn x' + k x = excitation - force        linear below v_0
 *
 * What a program that exports FMUs writes, by hand and without its headers.  build.py compiles and packs it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M, C, K, F_R, V_R, ALPHA, V_0, FORCE, EXCITATION, X, V, DER_X, DER_V, COUNT };
typedef struct { double value[COUNT]; } Model;
enum { OK = 0, ERROR = 3 };

static void start(Model *m)
{
    static const double values[COUNT] = {2.2, 2.0, 2250.0, 3.0, 0.1, 0.4, 1e-3};
    memcpy(m->value, values, sizeof values);
}

static double damper(const double *p, double v)
{
    double speed = fabs(v);
    if (speed <= p[V_0]) return p[F_R] * pow(p[V_0] / p[V_R], p[ALPHA]) / p[V_0] * v;
    return copysign(p[F_R] * pow(speed / p[V_R], p[ALPHA]), v);
}

static void differentiate(Model *m)
{
    double *p = m->value;
    p[DER_X] = p[V];
    p[DER_V] = (p[EXCITATION] - p[FORCE] - p[C] * p[V] - damper(p, p[V]) - p[K] * p[X]) / p[M];
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where, const void *callbacks, int visible, int logging)
{
    (void)name, (void)type, (void)where, (void)callbacks, (void)visible, (void)logging;
    Model *m = strcmp(guid, "halfreal-power-damper") ? NULL : calloc(1, sizeof *m);
    if (m) start(m);
    return m;
}
void fmi2FreeInstance(void *m) { free(m); }
int fmi2Reset(void *m) { start(m); return OK; }
int fmi2SetupExperiment(void *m, int a, double b, double t, int d, double e) { (void)m, (void)a, (void)b, (void)t, (void)d, (void)e; return OK; }
int fmi2EnterInitializationMode(void *m) { (void)m; return OK; }
int fmi2ExitInitializationMode(void *m) { (void)m; return OK; }
int fmi2Terminate(void *m) { (void)m; return OK; }
int fmi2SetDebugLogging(void *m, int on, size_t n, const char *const *which) { (void)m, (void)on, (void)n, (void)which; return OK; }
int fmi2SetReal(void *m, const unsigned *which, size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++) {
        if (which[i] >= X) return ERROR; /* states are set as such */
        ((Model *)m)->value[which[i]] = values[i];
    }
    return OK;
}
int fmi2GetReal(void *m, const unsigned *which, size_t n, double *values)
{
    differentiate(m);
    for (size_t i = 0; i < n; i++) {
        if (which[i] >= COUNT) return ERROR;
        values[i] = ((Model *)m)->value[which[i]];
    }
    return OK;
}
int fmi2SetTime(void *m, double t) { (void)m, (void)t; return OK; }
int fmi2SetContinuousStates(void *m, const double *x, size_t n) { memcpy(((Model *)m)->value + X, x, n * sizeof *x); return OK; }
int fmi2GetContinuousStates(void *m, double *x, size_t n) { memcpy(x, ((Model *)m)->value + X, n * sizeof *x); return OK; }
int fmi2GetDerivatives(void *m, double *dx, size_t n) { differentiate(m); memcpy(dx, ((Model *)m)->value + DER_X, n * sizeof *dx); return OK; }
int fmi2GetNominalsOfContinuousStates(void *m, double *x, size_t n) { (void)m; while (n) x[--n] = 1.0; return OK; }
int fmi2GetEventIndicators(void *m, double *z, size_t n) { (void)m, (void)z, (void)n; return OK; }
int fmi2CompletedIntegratorStep(void *m, int keep, int *enter, int *stop) { (void)m, (void)keep; *enter = *stop = 0; return OK; }
int fmi2EnterEventMode(void *m) { (void)m; return OK; }
int fmi2NewDiscreteStates(void *m, int *info) { (void)m; memset(info, 0, 5 * sizeof *info); return OK; }
int fmi2EnterContinuousTimeMode(void *m) { (void)m; return OK; }
/* the standard wants them to be there */
#define NOT_OFFERED(NAME) int fmi2##NAME(void) { return ERROR; }
NOT_OFFERED(GetInteger) NOT_OFFERED(GetBoolean) NOT_OFFERED(GetString) NOT_OFFERED(SetInteger) NOT_OFFERED(SetBoolean)
NOT_OFFERED(SetString) NOT_OFFERED(GetFMUstate) NOT_OFFERED(SetFMUstate) NOT_OFFERED(FreeFMUstate)
NOT_OFFERED(SerializedFMUstateSize) NOT_OFFERED(SerializeFMUstate) NOT_OFFERED(DeSerializeFMUstate)
NOT_OFFERED(GetDirectionalDerivative)

/* A part of a hybrid test as an FMU, FMI 2.0 co-simulation: the functions of the standard around blocks that halfreal
 * has compiled.  part.h, written for each part, has its memory, its variables and its faults.
 *
 * One tick is one step.  What the controller writes (target, command) holds at the time at which the FMU stands, for
 * the inputs that are set now: it is found by a tick on trial.  fmi2DoStep makes that tick count.  What a rig writes
 * (measurements) is of the end of the last tick. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define PUBLIC __attribute__((visibility("default")))
typedef int32_t (*BlockFunction)(int64_t *, void **, intptr_t, intptr_t, double, intptr_t, intptr_t, intptr_t);
typedef struct { BlockFunction function; int64_t parameters, state, wires, inputs, outputs; const int64_t *sizes; } Row;
enum { ROW_LENGTH = 7 };
enum Kind { GIVEN, OF_TRIAL, OF_LAST_TICK };
typedef struct { int64_t place; enum Kind kind; } Variable;
typedef struct { int64_t code; const char *text; } Fault;
#include "part.h" /* ROWS, WIRES, SIZE, VARIABLES, FAULTS, DT, GUID, GROUPS …, rows, wires, start, parameters, … */
HIDDEN int32_t TICKS(int64_t *ended, void **raised, int64_t *words); /* the loop, as kernels/entry.py describes it */
HIDDEN void NRT_MemInfo_call_dtor(void *memory) { (void)memory; } /* named in compiled code, never reached */

enum { OK, WARNING, DISCARD, ERROR };
enum { COMPLETED, STOPPED };
enum { TICK, FAULT };
typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;
typedef struct { double now[SIZE], begin; int64_t ticks, over; } State;
typedef struct {
    State state;
    double trial[SIZE]; /* one tick further */
    int64_t tried, ended, table[ROWS][ROW_LENGTH], control[CONTROL];
    Callbacks callbacks;
    char name[256];
} Instance;

static int report(Instance *m, int status, const char *text)
{
    if (m->callbacks.logger)
        m->callbacks.logger(m->callbacks.environment, m->name, status, "logStatusError", "%s", text);
    return status;
}

static int64_t bits(double value)
{
    int64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static void begin(Instance *m)
{
    memcpy(m->state.now, start, sizeof start);
    m->state.ticks = m->state.over = m->tried = 0;
    m->state.begin = 0.0;
    memset(m->control, 0, sizeof m->control);
}

static int try_tick(Instance *m)
{
    char text[400];
    int64_t ended = 0, groups[3] = {GROUPS};
    void *raised = NULL;
    if (m->tried) return OK;
    memcpy(m->trial, m->state.now, sizeof m->trial);
    if (m->state.over) { m->tried = 1, m->ended = STOPPED; return OK; }
    int64_t none = (intptr_t)m->trial; /* of arrays without entries: nothing is recorded or watched */
    int64_t words[] = { /* as in kernels/tick.py, Given; arrays with their shapes */
        (intptr_t)m->table, ROWS, ROW_LENGTH, (intptr_t)wires, WIRES, (intptr_t)m->trial, SIZE, bits(DT), 1,
        (intptr_t)groups, 3, SUBSTEPS, MODE, END, -1, -1, 0, none, 0, 0, none, 0, 1, none, 0, 2, bits(1.0),
        none, 0, 3, 0, 0, 0, none, (intptr_t)m->control, CONTROL};
    _Static_assert(sizeof words / sizeof *words == WORDS, "the loop takes other words");
    int32_t failed = TICKS(&ended, &raised, words);
    int64_t fault = (int64_t)m->trial[FAULT];
    if (failed || ended > STOPPED || (MODE < 0 && fault)) { /* with a guard, faults are the guard's */
        snprintf(text, sizeof text, "a block returned fault %lld at %g s", (long long)fault, m->state.ticks * DT);
        for (int i = 0; i < FAULTS; i++)
            if (faults[i].code == fault) snprintf(text, sizeof text, "%s, at %g s", faults[i].text, m->state.ticks * DT);
        return report(m, ERROR, text);
    }
    m->tried = 1;
    m->ended = ended;
    return OK;
}

PUBLIC const char *fmi2GetTypesPlatform(void) { return "default"; }
PUBLIC const char *fmi2GetVersion(void) { return "2.0"; }
PUBLIC int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *which)
{
    (void)c, (void)on, (void)n, (void)which;
    return OK;
}

PUBLIC void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where, const Callbacks *given,
                             int visible, int logging)
{
    (void)where, (void)visible, (void)logging;
    Instance *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    if (given) m->callbacks = *given;
    snprintf(m->name, sizeof m->name, "%s", name ? name : "");
    const char *wrong = type != 1 ? "this FMU is for co-simulation only"
                        : !guid || strcmp(guid, GUID) ? "the GUID is not that of this FMU's description" : NULL;
    if (wrong) { report(m, ERROR, wrong); free(m); return NULL; }
    for (int i = 0; i < ROWS; i++) {
        int64_t row[ROW_LENGTH] = {(intptr_t)rows[i].function, (intptr_t)(parameters + rows[i].parameters),
                                   (intptr_t)(m->trial + rows[i].state), rows[i].wires, rows[i].inputs, rows[i].outputs,
                                   (intptr_t)rows[i].sizes};
        memcpy(m->table[i], row, sizeof row);
    }
    begin(m);
    return m;
}
PUBLIC void fmi2FreeInstance(void *c) { free(c); }
PUBLIC int fmi2Reset(void *c) { begin(c); return OK; }
PUBLIC int fmi2SetupExperiment(void *c, int tolerant, double tolerance, double from, int ends, double to)
{
    (void)tolerant, (void)tolerance, (void)ends, (void)to;
    ((Instance *)c)->state.begin = from;
    return OK;
}
PUBLIC int fmi2EnterInitializationMode(void *c) { (void)c; return OK; }
PUBLIC int fmi2ExitInitializationMode(void *c) { (void)c; return OK; }
PUBLIC int fmi2Terminate(void *c) { (void)c; return OK; }

PUBLIC int fmi2SetReal(void *c, const unsigned *which, size_t n, const double *values)
{
    Instance *m = c;
    for (size_t i = 0; i < n; i++) {
        if (which[i] >= VARIABLES || variables[which[i]].kind != GIVEN)
            return report(m, ERROR, "a variable that is no input was set");
        double *place = m->state.now + variables[which[i]].place;
        if (*place != values[i]) *place = values[i], m->tried = 0;
    }
    return OK;
}
PUBLIC int fmi2GetReal(void *c, const unsigned *which, size_t n, double *values)
{
    Instance *m = c;
    for (size_t i = 0; i < n; i++) {
        if (which[i] >= VARIABLES) return report(m, ERROR, "there is no variable of this reference");
        const Variable *one = variables + which[i];
        if (one->kind == OF_TRIAL && try_tick(m)) return ERROR;
        values[i] = (one->kind == OF_TRIAL ? m->trial : m->state.now)[one->place];
    }
    return OK;
}

PUBLIC int fmi2DoStep(void *c, double t, double h, int keep)
{
    Instance *m = c;
    char text[200];
    double ticks = round(h / DT), stands = m->state.begin + m->state.ticks * DT;
    (void)keep;
    if (!(ticks >= 1.0) || fabs(h - ticks * DT) > 1e-6 * DT) {
        snprintf(text, sizeof text, "a step of %.9g s was asked for; this FMU makes whole multiples of %.9g s", h, DT);
        return report(m, ERROR, text);
    }
    if (!(fabs(t - stands) < 0.01 * DT)) {
        snprintf(text, sizeof text, "a step from %.9g s was asked for; this FMU stands at %.9g s", t, stands);
        return report(m, ERROR, text);
    }
    for (int64_t i = 0; i < (int64_t)ticks; i++) {
        if (try_tick(m)) return ERROR;
        memcpy(m->state.now, m->trial, sizeof m->trial);
        m->state.over = m->ended == STOPPED;
        m->state.ticks++;
        m->tried = 0;
    }
    return OK;
}

PUBLIC int fmi2GetFMUstate(void *c, void **kept)
{
    if (!*kept && !(*kept = malloc(sizeof(State)))) return ERROR;
    memcpy(*kept, &((Instance *)c)->state, sizeof(State));
    return OK;
}
PUBLIC int fmi2SetFMUstate(void *c, void *kept)
{
    memcpy(&((Instance *)c)->state, kept, sizeof(State));
    ((Instance *)c)->tried = 0;
    return OK;
}
PUBLIC int fmi2FreeFMUstate(void *c, void **kept) { (void)c; free(*kept); *kept = NULL; return OK; }
PUBLIC int fmi2SerializedFMUstateSize(void *c, void *kept, size_t *size) { (void)c, (void)kept; *size = sizeof(State); return OK; }
PUBLIC int fmi2SerializeFMUstate(void *c, void *kept, char *bytes, size_t size)
{
    if (size < sizeof(State)) return report(c, ERROR, "too few bytes for a state");
    memcpy(bytes, kept, sizeof(State));
    return OK;
}
PUBLIC int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **kept)
{
    if (size != sizeof(State)) return report(c, ERROR, "these bytes are no state of this FMU");
    if (!*kept && !(*kept = malloc(sizeof(State)))) return ERROR;
    memcpy(*kept, bytes, sizeof(State));
    return OK;
}

/* what the standard wants to be there: this FMU has real variables only, and steps are over when fmi2DoStep returns */
#define NONE_OF(TYPE, C) \
    PUBLIC int fmi2Get##TYPE(void *c, const unsigned *which, size_t n, C *values) { (void)which, (void)values; return n ? report(c, ERROR, "there are real variables only") : OK; } \
    PUBLIC int fmi2Set##TYPE(void *c, const unsigned *which, size_t n, const C *values) { (void)which, (void)values; return n ? report(c, ERROR, "there are real variables only") : OK; }
NONE_OF(Integer, int)
NONE_OF(Boolean, int)
NONE_OF(String, char *)
#define NOT_THERE(NAME) PUBLIC int fmi2##NAME(void *c) { return report(c, ERROR, "fmi2" #NAME " is not offered"); }
NOT_THERE(GetDirectionalDerivative)
NOT_THERE(SetRealInputDerivatives)
NOT_THERE(GetRealOutputDerivatives)
NOT_THERE(CancelStep)
NOT_THERE(GetStatus)
NOT_THERE(GetRealStatus)
NOT_THERE(GetIntegerStatus)
NOT_THERE(GetBooleanStatus)
NOT_THERE(GetStringStatus)

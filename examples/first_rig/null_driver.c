/* A driver that moves nothing, to begin one with: each input reads what was last written to the output of its place.
 *
 *     cc -O2 -shared -fPIC -I "$(python -c 'import halfreal.drivers as d; print(d.__path__[0])')" -o null_driver.so null_driver.c
 */
#include "halfreal_driver.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST 512
static double values[MOST];
static int inputs, outputs;
static atomic_int is_safe;
static char said[128];

static int number(const char *settings, const char *key)
{
    for (const char *line = settings; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int found;
        char name[64];
        if (sscanf(line, "%63[^=]=%d", name, &found) == 2 && strcmp(name, key) == 0)
            return found;
    }
    return 0;
}

int32_t halfreal_driver_open(const char *settings)
{
    inputs = number(settings, "inputs");
    outputs = number(settings, "outputs");
    if (inputs > MOST || outputs > MOST) {
        snprintf(said, sizeof said, "%d inputs and %d outputs, and this driver has room for %d", inputs, outputs, MOST);
        return 1;
    }
    memset(values, 0, sizeof values);
    atomic_store(&is_safe, 0);
    snprintf(said, sizeof said, "simulated null driver in C");
    return 0;
}

int32_t halfreal_driver_read(double *raw)
{
    for (int i = 0; i < inputs; i++)
        raw[i] = i < outputs ? values[i] : 0.0;
    return 0;
}

int32_t halfreal_driver_write(const double *raw)
{
    if (!atomic_load(&is_safe))
        memcpy(values, raw, sizeof(double) * (size_t)outputs);
    return 0;
}

int32_t halfreal_driver_safe(void)
{
    atomic_store(&is_safe, 1);
    return 0;
}

int32_t halfreal_driver_close(void) { return halfreal_driver_safe(); }

const char *halfreal_driver_said(void) { return said; }

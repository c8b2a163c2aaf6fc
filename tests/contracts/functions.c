/* functions.py in C. */
#include "halfreal_block.h"

HALFREAL_SIZES(virtual_device, 3, 1, 3, 1);
HALFREAL_BLOCK(virtual_device) /* p: step, k, c */
{
    (void)t;
    s[0] = (p[2] * s[0] - p[0] * u[2]) / (p[2] + p[0] * p[1]);
    y[0] = s[0];
    return 0;
}

HALFREAL_BLOCK(rig) /* p: step, k */
{
    (void)s, (void)t;
    y[0] = u[0];
    y[1] = p[1] * u[0];
    return 0;
}

HALFREAL_BLOCK(coupling)
{
    (void)p, (void)s, (void)t;
    y[0] = u[0];
    return 0;
}

HALFREAL_BLOCK(actuator) /* p: step, time constant; a lag behind a command that is held */
{
    (void)t;
    s[0] += p[0] / p[1] * (u[0] - s[0]);
    y[0] = s[0];
    y[1] = (u[0] - s[0]) / p[1];
    y[2] = -y[1] / p[1];
    return 0;
}

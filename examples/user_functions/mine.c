/* The functions of mine.py in C:  cc -O2 -shared -fPIC mine.c -o mine.so -lm  */
#include <math.h>
#include "halfreal_block.h"

enum { STEP, AHEAD };
HALFREAL_SIZES(lead_coupling, 2, 1, 3, 1);
HALFREAL_BLOCK(lead_coupling)
{
    (void)t;
    y[0] = u[0] + p[AHEAD] * (u[0] - s[0]) / p[STEP];
    s[0] = u[0];
    return 0;
}

enum { STIFFNESS = 1, FRICTION, V0 };
HALFREAL_SIZES(friction_specimen, 4, 0, 4, 1);
HALFREAL_BLOCK(friction_specimen)
{
    (void)s, (void)t;
    y[0] = p[STIFFNESS] * u[0] + p[FRICTION] * tanh(u[1] / p[V0]);
    return 0;
}

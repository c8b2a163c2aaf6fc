/* A compensator in a C library: prediction by a cubic through the target now and one, two and three delays ago,
 *
 *     command(t) = 4 x(t) - 6 x(t - d) + 4 x(t - 2 d) - x(t - 3 d)
 *
 * T. Horiuchi, M. Inoue, T. Konno, Y. Namita, "Real-time hybrid experimental system with actuator delay compensation and
 * its application to a piping system with energy absorber", Earthq. Eng. Struct. Dyn. 28 (1999) 1121-1141.
 *
 * build.py compiles it; halfreal_block.h stands in the example user_functions. */
#include <string.h>
#include "halfreal_block.h"

enum { LONGEST = 100 }; /* ticks of the past in s, the newest first */

HALFREAL_SIZES(horiuchi, 2, LONGEST, 3, 1);
HALFREAL_BLOCK(horiuchi) /* p: step, delay in ticks; s: the past; u: target, displacement, force; y: command */
{
    (void)t;
    int d = (int)p[1];
    double *past = s;
    if (d < 1 || 3 * d >= LONGEST) return 1; /* the past is too short for this delay */
    memmove(past + 1, past, (LONGEST - 1) * sizeof *past);
    past[0] = u[0];
    y[0] = 4.0 * past[0] - 6.0 * past[d] + 4.0 * past[2 * d] - past[3 * d];
    return 0;
}

/* A block of halfreal's loop as a function of a compiled library (kind = "library").
 *
 *     int32_t NAME(const double *p, double *s, double t, const double *u, double *y);
 *
 * p   parameters: p[0] is the step [s], behind it those of the definition in their order, arrays flattened
 * s   state: the definition's fields in their order, with the values given there; all that is remembered stands in it
 * t   time [s]
 * u   inputs at time t, SI units; which ones depends on the part:
 *       virtual     excitation, its rate, measured forces (one for each axis)
 *       coupling    targets, measured displacements, measured forces
 *       specimen    displacements, velocities, accelerations, excitation
 *       rig         commands
 * y   outputs at time t, to be written:
 *       virtual     interface displacements, then the responses of the definition
 *       coupling    commands
 *       specimen    resisting forces, positive where they resist a positive displacement
 *       rig         measured displacements, measured forces
 *
 * Returns 0, or a number from 1 to 997, on which the guard trips.
 *
 * It is called from the real-time loop, in every tick: no allocation, no locks, no files, no waiting, and every loop with
 * a largest number of passes.  No static variables either: what is remembered elsewhere than in s is missed by
 * `halfreal check`, which sets s to find out how the loop answers, and by a loop that begins anew.
 *
 * HALFREAL_SIZES(NAME, parameters, state, inputs, outputs) lets halfreal compare the numbers of entries with those of the
 * definition; parameters with the step.
 */
#ifndef HALFREAL_BLOCK_H
#define HALFREAL_BLOCK_H
#include <stdint.h>
#ifdef __cplusplus
#define HALFREAL_C extern "C"
#else
#define HALFREAL_C
#endif
#define HALFREAL_BLOCK(NAME) HALFREAL_C int32_t NAME(const double *p, double *s, double t, const double *u, double *y)
#define HALFREAL_SIZES(NAME, P, S, U, Y) HALFREAL_C const int32_t NAME##_sizes[4] = {(P), (S), (U), (Y)}
#endif

/* The hardware of a rig, for halfreal_rig.h.  simulated.c stands for it; a laboratory writes a file in its place. */
#ifndef HARDWARE_H
#define HARDWARE_H

#include <stdint.h>

#define NATURE 1 /* 1: this rig is simulated; 2: it is real.  Run files and reports say so */
#define NAME "rig.c 1, a lag of first order and a spring" /* and its version: UTF-8, at most 96 bytes */

/* Called once, before the others: axes, auxiliary channels, step [s]; stiffness is that of the simulated spring [N/m].*/
void hardware_begin(uint16_t axes, uint16_t auxiliary, double step, double stiffness);

/* actuate and measure of hr_settings. */
uint32_t hardware_actuate(void *context, const double position[]);
void hardware_measure(void *context, double displacement[], double force[], double auxiliary[]);

#endif

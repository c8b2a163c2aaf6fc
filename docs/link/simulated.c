/* A simulated rig: on each axis an actuator that follows with a lag of first order, and a linear spring; no noise.
 * Replace this file, and NATURE and NAME in hardware.h, by those of your rig. */
#include "hardware.h"

#include "halfreal_rig.h"

#define TIME_CONSTANT 0.010 /* of the actuator [s] */

static double position_now[HR_AXES]; /* where the actuators are [m] */
static double spring, decay;         /* [N/m]; of the distance to go that is left after a step */
static int axes_in_use, auxiliary_in_use;

/* exp(-x), x >= 0, of additions and multiplications alone, so that every machine has the same bits: a series of the
 * number halved until it is small, and squared as often.  Accurate to some 1e-14. */
static double falling(double x) {
    double sum = 1.0, term = 1.0;
    int halved = 0;
    if (x > 700.0) return 0.0;
    for (; x > 0.125; halved++) x *= 0.5;
    for (int i = 1; i < 12; i++) {
        term *= -x / i;
        sum += term;
    }
    for (; halved > 0; halved--) sum *= sum;
    return sum;
}

void hardware_begin(uint16_t axes, uint16_t auxiliary, double step, double stiffness) {
    axes_in_use = axes;
    auxiliary_in_use = auxiliary;
    spring = stiffness;
    decay = falling(step / TIME_CONSTANT);
}

uint32_t hardware_actuate(void *context, const double position[]) {
    (void)context;
    for (int i = 0; i < axes_in_use; i++) position_now[i] += (1.0 - decay) * (position[i] - position_now[i]);
    return 0;
}

/* Auxiliary channel i is i times the first displacement, i = 1, 2, ... */
void hardware_measure(void *context, double displacement[], double force[], double auxiliary[]) {
    (void)context;
    for (int i = 0; i < axes_in_use; i++) {
        displacement[i] = position_now[i];
        force[i] = spring * position_now[i];
    }
    for (int i = 0; i < auxiliary_in_use; i++) auxiliary[i] = (i + 1) * position_now[0];
}

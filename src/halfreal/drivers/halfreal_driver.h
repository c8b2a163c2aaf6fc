/* A driver for halfreal's rig end as a shared library: the code between `halfreal serve` and the hardware.
 *
 *     cc -O2 -shared -fPIC -I FOLDER_OF_THIS_FILE -o lab.so lab.c
 *     halfreal serve test.toml --driver lab.so --try
 *
 * The contract in full is the head of halfreal/contracts/driver.py; in short:
 *
 * open    gets lines "key=value\n": period, inputs, outputs, input.0, input.1, …, output.0, …, then [driver.settings].
 *         Takes hold of the hardware and moves nothing.  Must succeed although an earlier process did not close.
 * read    writes one raw value for each input, in that order, sampled now; NAN for one that could not be read.
 * write   takes one raw value for each output; a digital one is 0 or 1.  It holds until the next call.
 * safe    makes the outputs safe by the shortest way.  Called at any time after open, from another thread too, and while
 *         read or write has not returned: it must not wait for them.  From then on write is ignored until open.
 * close   lets go of the hardware, in its safe state.
 * said    the reason of the last failure, or who the driver is after open: "real NAME VERSION" or "simulated NAME
 *         VERSION".  It may be left out.
 *
 * Each returns 0, or another number as a fault: then safe is called at once and the test trips.  read and write are
 * called from the real-time loop, once a tick each, from one thread: no allocation, no files, no waiting beyond a period.
 */
#ifndef HALFREAL_DRIVER_H
#define HALFREAL_DRIVER_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
int32_t halfreal_driver_open(const char *settings);
int32_t halfreal_driver_read(double *raw);
int32_t halfreal_driver_write(const double *raw);
int32_t halfreal_driver_safe(void);
int32_t halfreal_driver_close(void);
const char *halfreal_driver_said(void);
#ifdef __cplusplus
}
#endif
#endif

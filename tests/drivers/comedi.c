/* A stand-in for libcomedi: a card whose outputs lead to its inputs.  Functions as comedilib.h declares them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct { double min, max; unsigned int unit; } comedi_range;
typedef struct { unsigned int analogue[4], digital[8], directions[8]; } comedi_t;
static comedi_t card;
static comedi_range volts = {-10.0, 10.0, 0};
static int failing;

comedi_t *comedi_open(const char *name) { return strcmp(name, "/dev/comedi0") == 0 ? &card : NULL; }
int comedi_close(comedi_t *it) { (void)it; return 0; }
int comedi_errno(void) { return 19; }
const char *comedi_strerror(int number) { return number == 19 ? "No such device" : "?"; }
const char *comedi_get_board_name(comedi_t *it) { (void)it; return "stand-in"; }
int comedi_find_subdevice_by_type(comedi_t *it, int type, unsigned int from) {
    (void)it; (void)from;
    return type == 1 ? 0 : type == 2 ? 1 : type == 5 ? 2 : -1;
}
int comedi_get_n_channels(comedi_t *it, unsigned int subdevice) { (void)it; return subdevice == 2 ? 8 : 4; }
unsigned int comedi_get_maxdata(comedi_t *it, unsigned int s, unsigned int c) { (void)it; (void)s; (void)c; return 65535; }
comedi_range *comedi_get_range(comedi_t *it, unsigned int s, unsigned int c, unsigned int range) {
    (void)it; (void)s; (void)c;
    return range == 0 ? &volts : NULL;
}
double comedi_to_phys(unsigned int raw, comedi_range *r, unsigned int largest) {
    if (raw == 0 || raw == largest) return 0.0 / 0.0;
    return r->min + (r->max - r->min) * raw / largest;
}
unsigned int comedi_from_phys(double x, comedi_range *r, unsigned int largest) {
    const double raw = (x - r->min) / (r->max - r->min) * largest;
    return raw <= 0.0 ? 0 : raw >= largest ? largest : (unsigned int)(raw + 0.5);
}
int comedi_data_read(comedi_t *it, unsigned int s, unsigned int c, unsigned int range, unsigned int a, unsigned int *d) {
    (void)range; (void)a;
    *d = it->analogue[c];
    return failing || s != 0 ? -1 : 1;
}
int comedi_data_write(comedi_t *it, unsigned int s, unsigned int c, unsigned int range, unsigned int a, unsigned int d) {
    (void)range; (void)a;
    it->analogue[c] = d;
    return s != 1 ? -1 : 1;
}
int comedi_dio_config(comedi_t *it, unsigned int s, unsigned int c, unsigned int way) {
    it->directions[c] = way;
    return s == 2 ? 0 : -1;
}
int comedi_dio_read(comedi_t *it, unsigned int s, unsigned int c, unsigned int *d) { *d = it->digital[c]; return s == 2 ? 1 : -1; }
int comedi_dio_write(comedi_t *it, unsigned int s, unsigned int c, unsigned int d) {
    it->digital[c ^ 1] = d; /* lines 0 and 1 are wired together */
    return s == 2 && it->directions[c] == 1 ? 1 : -1;
}
void fail(int now) { failing = now; }

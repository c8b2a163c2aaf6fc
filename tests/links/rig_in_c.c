/* The rig's end in C with an ideal actuator of one axis, for tests that keep the clock. */
#include "halfreal_rig.h"

static double stroke, rate, largest_step, braking, position;
static uint32_t failure;
static bool has_failed;
static hr_settings settings;
static hr_rig rig;

static uint32_t actuate(void *context, const double wanted[]) {
    (void)context;
    if (failure != 0 && !has_failed) {
        has_failed = true;
        return failure;
    }
    position = wanted[0];
    return failure;
}

static void measure(void *context, double displacement[], double force[], double auxiliary[]) {
    (void)context;
    (void)auxiliary;
    displacement[0] = position;
    force[0] = 0.0;
}

static uint64_t random_number(void *context) {
    static uint64_t made;
    (void)context;
    return ++made;
}

int test_begin(double step, double return_time, const double limits[4], bool in_step, double at, int64_t now) {
    stroke = limits[0];
    rate = limits[1];
    largest_step = limits[2];
    braking = limits[3];
    position = at;
    failure = 0;
    has_failed = false;
    settings = (hr_settings){.step = step, .longest_lease = 10.0, .return_time = return_time, .stroke = &stroke,
                             .rate = &rate, .largest_step = &largest_step, .braking = braking > 0.0 ? &braking : NULL,
                             .axes = 1, .in_step = in_step, .nature = 1, .name = "test", .actuate = actuate,
                             .measure = measure, .random = random_number};
    return hr_begin(&rig, &settings, now) == NULL;
}

size_t test_hear(const uint8_t *bytes, size_t length, int64_t now, uint8_t *answer) {
    return hr_hear(&rig, bytes, length, 1, now, answer);
}

size_t test_tick(int64_t now, uint8_t *answer) { return hr_tick(&rig, now, answer); }
size_t test_stop(int64_t now, uint8_t *answer) { return hr_stop(&rig, now, answer); }
int64_t test_due(void) { return hr_due(&rig); }
void test_fail(uint32_t code) { failure = code; }
double test_position(void) { return position; }
double test_applied(void) { return rig.applied[0]; }
uint32_t test_state(void) { return rig.state; }
uint32_t test_code(void) { return rig.code; }
bool test_is_at_rest(void) { return rig.state == HR_SAFE && rig.way_time >= rig.way_end; }

/* The rig's end of a link as a library: see halfreal_rig.h.  Four parts: 1 datagrams, 2 the limits, 3 the session,
 * 4 serial lines.
 *
 * The rig protects itself: whatever the controller asks for, at whatever pace, part 2 is all that reaches the hardware.
 * Nothing that comes from outside is used before it has passed every check in hr_hear(). */
#include "halfreal_rig.h"

#define SETTLING 0.1 /* once its safe position is reached, the rig counts as at rest after this time [s] */
#define BRAKING 0.1  /* the longest that braking takes where the settings have no limit of acceleration [s] */
#define ENDLESS 1e300
#define FASTEST 1.875 /* velocity of the way to safety at its fastest point, over its mean */
#define SHARPEST 5.773502691896258 /* and its largest acceleration, over distance / time^2 */
#define NANO INT64_C(1000000000)
#define OFFERED (300 * NANO) /* a number offered for a session is good for so long to twice as long */
#define NAME_BYTES (8 * (HR_IDENTITY - 1))

typedef char a_double_has_8_bytes[sizeof(double) == 8 ? 1 : -1];
typedef char axes_of_the_protocol[HR_AXES >= 1 && HR_AXES <= 64 ? 1 : -1];
typedef char auxiliary_of_the_protocol[HR_AUXILIARY >= 0 && HR_AUXILIARY <= 64 ? 1 : -1];

static double magnitude(double x) { return x < 0.0 ? -x : x; }
static double larger(double x, double y) { return x > y ? x : y; }
static double smaller(double x, double y) { return x < y ? x : y; }

/* The square root, by Newton's method from above: without a function of the C library. */
static double root(double x) {
    double found = larger(x, 1.0), next = 0.5 * (found + x / found);
    while (next < found) {
        found = next;
        next = 0.5 * (found + x / found);
    }
    return found;
}

static void copy(const double *from, double *to, int number) {
    for (int i = 0; i < number; i++) to[i] = from[i];
}

/* ---- 1. Datagrams ------------------------------------------------------------------------------------------------ */

static const uint32_t MAGIC = UINT32_C(0x4C524648);

typedef struct {
    uint8_t kind;
    uint16_t count;
    uint64_t session, sequence, answers;
    int64_t tick;
    uint32_t code;
    const uint8_t *channels;
} Heard;

/* Little-endian numbers byte by byte: right on any machine, and at any alignment. */
static uint64_t get(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void put(uint8_t *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

typedef union {
    double number;
    uint64_t bits;
} Double;

static double channel(const Heard *d, int i) {
    Double value;
    value.bits = get(d->channels + 8 * i, 8);
    return value.number;
}

static void put_double(uint8_t *to, double number) {
    Double value;
    value.number = number;
    put(to, value.bits, 8);
}

/* By its bits: comparisons of NaN are what options of compilers break first. */
static bool is_number(double number) {
    Double value;
    value.number = number;
    return (value.bits >> 52 & 0x7ff) != 0x7ff;
}

static uint64_t turned(uint64_t x, int left) { return (x << left) | (x >> (64 - left)); }

static void sip_rounds(uint64_t v[4], int rounds) {
    for (; rounds > 0; rounds--) {
        v[0] += v[1]; v[1] = turned(v[1], 13) ^ v[0]; v[0] = turned(v[0], 32);
        v[2] += v[3]; v[3] = turned(v[3], 16) ^ v[2];
        v[0] += v[3]; v[3] = turned(v[3], 21) ^ v[0];
        v[2] += v[1]; v[1] = turned(v[1], 17) ^ v[2]; v[2] = turned(v[2], 32);
    }
}

/* SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012): whoever does not know the key can make no tag. */
hr_bits hr_siphash(const uint8_t *bytes, size_t length, hr_bits key) {
    uint64_t v[4];
    hr_bits tag;
    v[0] = key.word[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = key.word[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
    v[2] = key.word[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = key.word[1] ^ UINT64_C(0x7465646279746573);
    for (size_t at = 0; at <= length; at += 8) {
        const int left = length - at >= 8 ? 8 : (int)(length - at);
        const uint64_t m = get(bytes + at, left) | (left < 8 ? (uint64_t)length << 56 : 0);
        v[3] ^= m;
        sip_rounds(v, 2);
        v[0] ^= m;
    }
    v[2] ^= 0xee;
    sip_rounds(v, 4);
    tag.word[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    sip_rounds(v, 4);
    tag.word[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    return tag;
}

/* The key of the session that answers a HELLO of one number with an OFFER of another.  Without a secret it is zero, and
 * the tag no more than a checksum. */
static hr_bits session_key(const hr_rig *rig, uint64_t asked, uint64_t offered) {
    uint8_t text[24] = {'h', 'a', 'l', 'f', 'r', 'e', 'a', 'l'};
    if (rig->secret.word[0] == 0 && rig->secret.word[1] == 0) return rig->secret;
    put(text + 8, asked, 8);
    put(text + 16, offered, 8);
    return hr_siphash(text, sizeof text, rig->secret);
}

static bool is_whole(const uint8_t *bytes, size_t length) {
    return length >= HR_SHORTEST && length == HR_SHORTEST + 8 * (size_t)get(bytes + 6, 2);
}

static bool is_ours(const uint8_t *bytes) {
    return get(bytes, 4) == MAGIC && bytes[4] == HR_VERSION && get(bytes + 6, 2) <= HR_CHANNELS;
}

/* Whether the tag fits; how long this takes does not tell where it differs. */
static bool is_genuine(const uint8_t *bytes, size_t length, hr_bits key) {
    const hr_bits tag = hr_siphash(bytes, length - HR_TAG, key);
    return ((tag.word[0] ^ get(bytes + length - HR_TAG, 8)) | (tag.word[1] ^ get(bytes + length - 8, 8))) == 0;
}

static Heard decode(const uint8_t *bytes) {
    Heard d;
    d.kind = bytes[5];
    d.count = (uint16_t)get(bytes + 6, 2);
    d.session = get(bytes + 8, 8);
    d.sequence = get(bytes + 16, 8);
    d.answers = get(bytes + 24, 8);
    d.tick = (int64_t)get(bytes + 32, 8);
    d.code = (uint32_t)get(bytes + 52, 4);
    d.channels = bytes + HR_HEADER;
    return d;
}

/* An answer: channels are put behind the header first, then it is sealed. */
typedef struct {
    uint8_t kind;
    uint64_t session, sequence, answers;
    int64_t tick;
    uint32_t state, code;
} Said;

static size_t seal(uint8_t *bytes, const Said *d, int count, int64_t now, hr_bits key) {
    const size_t length = HR_HEADER + 8 * (size_t)count;
    hr_bits tag;
    put(bytes, MAGIC, 4);
    bytes[4] = HR_VERSION;
    bytes[5] = d->kind;
    put(bytes + 6, (uint64_t)count, 2);
    put(bytes + 8, d->session, 8);
    put(bytes + 16, d->sequence, 8);
    put(bytes + 24, d->answers, 8);
    put(bytes + 32, (uint64_t)d->tick, 8);
    put(bytes + 40, (uint64_t)now, 8);
    put(bytes + 48, d->state, 4);
    put(bytes + 52, d->code, 4);
    tag = hr_siphash(bytes, length, key);
    put(bytes + length, tag.word[0], 8);
    put(bytes + length + 8, tag.word[1], 8);
    return length + HR_TAG;
}

static int put_channels(uint8_t *bytes, int at, const double *values, int number) {
    for (int i = 0; i < number; i++) put_double(bytes + HR_HEADER + 8 * (at + i), values[i]);
    return at + number;
}

/* ---- 2. The limits: nothing moves the hardware but what passes here ---------------------------------------------- */

static void measure(hr_rig *rig) {
    const int n = rig->settings->axes;
    rig->settings->measure(rig->settings->context, rig->measured, rig->measured + n, rig->measured + 2 * n);
}

/* Go to where the rig is, no faster than its rate: what its sensors show is a little off the position applied.  An axis
 * whose sensor gives no number stays at the position last applied. */
static void hold_as_measured(hr_rig *rig) {
    measure(rig);
    for (int i = 0; i < rig->settings->axes; i++)
        rig->goal[i] = is_number(rig->measured[i]) ? rig->measured[i] : rig->applied[i];
}

/* Whether a command may be followed; if not, why not.  Written so that NaN may not. */
static bool is_allowed(const hr_rig *rig, const Heard *d, hr_change *why) {
    for (int i = 0; i < rig->settings->axes; i++) {
        why->axis = (uint16_t)i;
        why->command = channel(d, i);
        why->distance = magnitude(why->command - rig->applied[i]);
        why->cause = HR_BEYOND_STROKE;
        if (!(magnitude(why->command) <= rig->settings->stroke[i])) return false;
        why->cause = HR_STEP_TOO_LONG;
        if (!(why->distance <= rig->settings->largest_step[i])) return false;
    }
    return true;
}

/* Wall time for which the rig may move in this step [s]: an early step has less of it, a late one no more than any. */
static double time_of_step(hr_rig *rig, int64_t now) {
    const double passed = (double)(now - rig->last_step) / 1e9;
    rig->last_step = now;
    return passed < rig->settings->step ? larger(passed, 0.0) : rig->settings->step;
}

static bool is_emergency(uint32_t code) { return code == HR_EMERGENCY_STOP || code == HR_FAULT; }

/* Whether this makes an armed rig safe, or ends its way to safety.  An emergency does, and nothing that comes after one;
 * a limit of the hardware does not end the way, as that is what the rig returns from. */
static bool may_be_stopped(const hr_rig *rig, uint32_t code) {
    return rig->state == HR_ARMED || (rig->state == HR_SAFE && is_emergency(code) && !is_emergency(rig->code) &&
                                      rig->way_time < rig->way_end);
}

/* Go towards the goal, no faster than the rate.  How the rig moves in the session is kept for when it has to brake. */
static uint32_t follow(hr_rig *rig, double seconds) {
    const double step = rig->settings->step;
    double next[HR_AXES];
    uint32_t code;
    for (int i = 0; i < rig->settings->axes; i++) {
        const double most = rig->settings->rate[i] * seconds, way = rig->goal[i] - rig->applied[i];
        next[i] = magnitude(way) <= most ? rig->goal[i] : rig->applied[i] + (way < 0.0 ? -most : most);
    }
    code = rig->settings->actuate(rig->settings->context, next);
    if (code != 0 && may_be_stopped(rig, code)) return code; /* it has not moved */
    for (int i = 0; i < rig->settings->axes; i++) {
        const double before = rig->moved[i];
        rig->moved[i] = next[i] - rig->applied[i];
        rig->applied[i] = next[i];
        if (rig->state == HR_ARMED)
            rig->sharpest[i] = larger(rig->sharpest[i], magnitude(rig->moved[i] - before) / (step * step));
    }
    return 0;
}

/* Leave with the present velocity, which a position that has not changed for long no longer has. */
static void find_velocity(hr_rig *rig, int64_t now) {
    const double seconds = larger((double)(now - rig->last_step) / 1e9, rig->settings->step);
    for (int i = 0; i < rig->settings->axes; i++) rig->velocity[i] = rig->moved[i] / seconds;
}

/* Time in which all axes come to rest together [s]: with no larger acceleration than the session has had, but within
 * BRAKING, and in an emergency at once; with none beyond the limit of the settings; and within the stroke. */
static double time_to_brake(const hr_rig *rig, bool emergency) {
    const hr_settings *own = rig->settings;
    double time = 0.0;
    for (int i = 0; i < own->axes; i++) {
        const double speed = magnitude(rig->velocity[i]);
        double most = own->braking != NULL ? own->braking[i] : ENDLESS;
        if (!emergency) most = smaller(most, larger(rig->sharpest[i], speed / BRAKING));
        if (speed > 0.0) time = larger(time, speed / most);
    }
    for (int i = 0; i < own->axes; i++) {
        const double speed = magnitude(rig->velocity[i]);
        const double left = own->stroke[i] - (rig->velocity[i] < 0.0 ? -rig->applied[i] : rig->applied[i]);
        if (speed > 0.0) time = smaller(time, 2.0 * larger(left, 0.0) / speed);
    }
    return time;
}

/* ---- 3. The session ---------------------------------------------------------------------------------------------- */

static bool is_moving_to_safety(const hr_rig *rig) {
    return rig->state == HR_SAFE && rig->way_time < rig->way_end + SETTLING;
}

static void tell(const hr_rig *rig, const hr_change *change) {
    if (rig->settings->changed != NULL) rig->settings->changed(rig->settings->context, rig, change);
}

static void tell_cause(const hr_rig *rig, hr_cause cause) {
    hr_change change = {HR_AT_REST, 0, 0.0, 0.0};
    change.cause = cause;
    tell(rig, &change);
}

static size_t measurement(hr_rig *rig, int64_t now, uint8_t *answer) {
    Said d = {HR_MEASUREMENT, 0, 0, 0, 0, 0, 0};
    const int count = 2 * rig->settings->axes + rig->settings->auxiliary;
    measure(rig);
    d.session = rig->session;
    d.sequence = ++rig->sent;
    d.answers = rig->newest;
    d.tick = (int64_t)((uint64_t)rig->tick + 1); /* unsigned: whatever tick came, no overflow */
    d.state = rig->state;
    d.code = rig->state == HR_SAFE ? rig->code : 0;
    (void)put_channels(answer, 0, rig->measured, count);
    return seal(answer, &d, count, now, rig->key);
}

/* The way to safety lasts long enough to keep to the rate, and to the acceleration of the settings. */
static double time_of_way(const hr_rig *rig) {
    const hr_settings *own = rig->settings;
    double longest = own->return_time;
    for (int i = 0; i < own->axes; i++) {
        const double distance = magnitude(rig->to[i] - rig->from[i]);
        longest = larger(longest, FASTEST * distance / own->rate[i]);
        if (own->braking != NULL) longest = larger(longest, root(SHARPEST * distance / own->braking[i]));
    }
    return longest;
}

/* Brake, and then hold or return.  After an emergency stop or a fault nothing returns: the rig, or what it knows of
 * itself, is not to be relied on. */
static void make_safe(hr_rig *rig, uint32_t code, const hr_change *why, int64_t now) {
    const bool emergency = is_emergency(code);
    const bool returns = rig->settings->return_time > 0.0 && !emergency;
    rig->state = HR_SAFE;
    rig->code = code;
    find_velocity(rig, now);
    rig->way_time = 0.0;
    rig->brake_end = time_to_brake(rig, emergency);
    for (int i = 0; i < rig->settings->axes; i++) {
        rig->from[i] = rig->applied[i] + 0.5 * rig->velocity[i] * rig->brake_end;
        rig->to[i] = returns ? rig->home[i] : rig->from[i];
        rig->goal[i] = rig->applied[i];
    }
    rig->way_end = rig->brake_end + (returns ? time_of_way(rig) : 0.0);
    if (rig->settings->in_step) rig->next_step = now; /* from here on its own clock leads it */
    tell(rig, why);
}

static void make_safe_by(hr_rig *rig, uint32_t code, hr_cause cause, int64_t now) {
    hr_change why = {HR_AT_REST, 0, 0.0, 0.0};
    why.cause = cause;
    make_safe(rig, code, &why, now);
}

/* The next point of the way to safety: the velocity falls to zero in equal parts, and then velocity and acceleration are
 * zero at both ends of the way home.  Its time is that of the steps: one that the machine missed makes the way longer,
 * but never makes it jump. */
static void advance_to_safety(hr_rig *rig, double seconds) {
    const double all = rig->way_end - rig->brake_end;
    double x, done, left;
    rig->way_time += seconds;
    left = larger(rig->brake_end - rig->way_time, 0.0);
    x = rig->way_time < rig->way_end ? larger(rig->way_time - rig->brake_end, 0.0) / all : 1.0;
    done = x * x * x * (10.0 + x * (6.0 * x - 15.0));
    for (int i = 0; i < rig->settings->axes; i++) {
        if (left > 0.0) rig->goal[i] = rig->from[i] - 0.5 * rig->velocity[i] * left * left / rig->brake_end;
        else rig->goal[i] = x < 1.0 ? rig->from[i] + done * (rig->to[i] - rig->from[i]) : rig->to[i];
    }
}

static hr_cause cause_of(uint32_t code) {
    return code == HR_OWN_LIMIT ? HR_HARDWARE_LIMIT : code == HR_FAULT ? HR_FAULTY : HR_STOPPED;
}

static size_t take_step(hr_rig *rig, int64_t now, uint8_t *answer) {
    const bool moving = is_moving_to_safety(rig);
    const double seconds = time_of_step(rig, now);
    size_t length = 0;
    uint32_t code;
    if (moving) advance_to_safety(rig, seconds);
    code = follow(rig, seconds);
    if (code != 0) {
        make_safe_by(rig, code, cause_of(code), now);
        advance_to_safety(rig, seconds);
        (void)follow(rig, seconds);
    }
    if (rig->state == HR_ARMED || moving || is_moving_to_safety(rig)) length = measurement(rig, now, answer);
    if (moving && !is_moving_to_safety(rig)) tell_cause(rig, HR_AT_REST);
    return length;
}

/* First the lease: a command that comes after its end must not renew it. */
static void look_at_lease(hr_rig *rig, int64_t now) {
    if (rig->state == HR_ARMED && now >= rig->expires) make_safe_by(rig, HR_NO_COMMAND, HR_LEASE_OVER, now);
}

/* Only to who asks: a controller that knows nothing of it expects what is measured and the limits, and no more. */
static int say_who(const hr_rig *rig, uint8_t *answer, int at) {
    uint8_t *name = answer + HR_HEADER + 8 * (at + 1);
    int length = 0;
    put_double(answer + HR_HEADER + 8 * at, rig->settings->nature);
    for (; length < NAME_BYTES && rig->settings->name[length] != '\0'; length++)
        name[length] = (uint8_t)rig->settings->name[length];
    for (; length < NAME_BYTES; length++) name[length] = 0;
    return at + HR_IDENTITY;
}

/* Offers of one time all have the same number, so that asking leaves nothing behind: nobody's HELLO, new or recorded,
 * spoils the offer that another one has got.  A number is good for one session, and not for long. */
static void renew(hr_rig *rig, int64_t now) {
    rig->before = 0;
    rig->offered = rig->settings->random(rig->settings->context); /* 0: then nothing is offered */
    rig->renewed = now;
}

static void age_offers(hr_rig *rig, int64_t now) {
    const int64_t age = now - rig->renewed;
    const uint64_t before = age < 2 * OFFERED ? rig->offered : 0;
    if (rig->offered != 0 && age < OFFERED) return;
    renew(rig, now);
    rig->before = before;
}

/* Why what HELLO or ARM asks for cannot be granted; 0: it can.  Comparisons are written so that NaN is refused. */
static uint32_t is_against(const hr_rig *rig, const Heard *asked) {
    const hr_settings *own = rig->settings;
    if (rig->state == HR_ARMED || is_moving_to_safety(rig)) return HR_BUSY;
    if (!(magnitude(channel(asked, 0) - own->step) <= 1e-9 * own->step)) return HR_OTHER_STEP;
    if (!(channel(asked, 1) == own->axes)) return HR_OTHER_AXES;
    if (!(channel(asked, 3) == own->auxiliary)) return HR_OTHER_AUXILIARY;
    if (!(channel(asked, 2) > 0.0 && channel(asked, 2) <= own->longest_lease)) return HR_LEASE_TOO_LONG;
    return 0;
}

static size_t greet(hr_rig *rig, const Heard *hello, int64_t now, uint8_t *answer) {
    const hr_settings *own = rig->settings;
    Said d = {HR_OFFER, 0, 0, 0, 0, 0, 0};
    const int n = own->axes;
    int count;
    rig->counter[HR_HELLOS]++;
    d.answers = hello->sequence;
    d.state = rig->state;
    d.code = is_against(rig, hello);
    if (d.code != 0) {
        double has[3];
        has[0] = own->step;
        has[1] = own->axes;
        has[2] = own->auxiliary;
        d.kind = HR_REFUSAL;
        count = put_channels(answer, 0, has, 3);
    } else {
        if (rig->offered == 0) return 0; /* it will ask again */
        d.session = rig->offered;
        d.code = rig->state == HR_SAFE ? rig->code : 0;
        measure(rig);
        count = put_channels(answer, 0, rig->measured, 2 * n + own->auxiliary);
        count = put_channels(answer, count, own->stroke, n);
        count = put_channels(answer, count, own->rate, n);
        count = put_channels(answer, count, own->largest_step, n);
        if (hello->code == HR_ASKS_WHO) count = say_who(rig, answer, count);
    }
    return seal(answer, &d, count, now, rig->handshake);
}

/* Arming moves nothing: the rig goes on holding where it stands.  A first measurement lets the controller begin, also
 * if the rig works in step. */
static size_t arm(hr_rig *rig, const Heard *d, hr_bits key, uint64_t from, int64_t now, uint8_t *answer) {
    if (is_against(rig, d) != 0) {
        rig->counter[HR_FOREIGN]++;
        return 0;
    }
    rig->counter[HR_ACCEPTED]++;
    rig->state = HR_ARMED;
    rig->session = d->session;
    rig->key = key;
    rig->peer = from;
    rig->lease = (int64_t)(channel(d, 2) * 1e9);
    rig->most_ahead = (uint64_t)(2.0 * channel(d, 2) / rig->settings->step + 64.0);
    renew(rig, now); /* no number opens two sessions */
    rig->newest = d->sequence;
    rig->seen = UINT64_MAX; /* nothing can come before the first one */
    rig->sent = 0;
    rig->tick = d->tick;
    rig->expires = now + rig->lease;
    hold_as_measured(rig);
    copy(rig->goal, rig->home, rig->settings->axes);
    for (int i = 0; i < rig->settings->axes; i++) rig->moved[i] = rig->sharpest[i] = 0.0;
    tell_cause(rig, HR_NOW_ARMED);
    return measurement(rig, now, answer);
}

/* The window: is this sequence newer than every one before it?  What is not is counted. */
static bool is_new(hr_rig *rig, uint64_t sequence) {
    uint64_t *counter = rig->counter;
    if (sequence > rig->newest) {
        const uint64_t ahead = sequence - rig->newest;
        counter[HR_ACCEPTED]++;
        counter[HR_LOST] += ahead - 1;
        rig->seen = (ahead < 64 ? rig->seen << ahead : 0) | 1;
        rig->newest = sequence;
        return true;
    }
    const uint64_t behind = rig->newest - sequence;
    if (behind >= 64) {
        counter[HR_REPLAYED]++;
    } else if ((rig->seen >> behind) & 1) {
        counter[HR_DUPLICATED]++;
    } else {
        counter[HR_REORDERED]++;
        counter[HR_LOST]--;
        rig->seen |= UINT64_C(1) << behind;
    }
    return false;
}

static bool is_too_far_ahead(const hr_rig *rig, uint64_t sequence) {
    return sequence > rig->newest && sequence - rig->newest > rig->most_ahead;
}

/* HELLO belongs to no session, so it may be said at any time: who finds the rig busy gets an answer.  ARM is the first
 * datagram of a session and stays welcome there: a second copy of it is a duplicate, not a stranger.  A command from
 * far ahead was never sent by the controller: accepted, it would make replays of all that the controller sends. */
static bool belongs(const hr_rig *rig, const Heard *d, uint64_t from) {
    if (d->kind == HR_HELLO) return d->session == 0 && d->count == HR_ASKED;
    if (d->session == 0) return false;
    if (d->session != rig->session) /* a session that is not open yet */
        return d->kind == HR_ARM && d->sequence == 1 && d->count == HR_ASKED &&
               (d->session == rig->offered || d->session == rig->before);
    if (from != rig->peer) return false;
    if (d->kind == HR_ARM) return d->sequence == 1 && d->count == HR_ASKED;
    if (d->kind == HR_STOP) return d->count == 0;
    return d->kind == HR_COMMAND && d->count == rig->settings->axes && !is_too_far_ahead(rig, d->sequence);
}

/* The key that a datagram which belongs here must have been tagged with. */
static hr_bits key_of(const hr_rig *rig, const Heard *d) {
    if (d->kind == HR_HELLO) return rig->handshake;
    return d->session == rig->session ? rig->key : session_key(rig, d->answers, d->session);
}

static bool is_finite(const Heard *d) {
    for (int i = 0; i < d->count; i++)
        if (!is_number(channel(d, i))) return false;
    return true;
}

/* STOP counts whatever its sequence: nothing that came before it may keep the controller from stopping the rig.  If the
 * rig is safe, its answer says so. */
static size_t obey_stop(hr_rig *rig, const Heard *d, int64_t now, uint8_t *answer) {
    size_t length;
    if (d->sequence > rig->newest && !is_too_far_ahead(rig, d->sequence)) (void)is_new(rig, d->sequence);
    else rig->counter[HR_ACCEPTED]++;
    if (rig->state != HR_ARMED) return measurement(rig, now, answer);
    rig->state = HR_IDLE;
    copy(rig->applied, rig->goal, rig->settings->axes);
    length = measurement(rig, now, answer);
    rig->session = 0;
    tell_cause(rig, HR_NOW_IDLE);
    return length;
}

static size_t obey_command(hr_rig *rig, const Heard *d, int64_t now, uint8_t *answer) {
    hr_change why;
    rig->tick = d->tick;
    rig->expires = now + rig->lease;
    if (!is_allowed(rig, d, &why)) {
        make_safe(rig, HR_OWN_LIMIT, &why, now);
        return 0;
    }
    for (int i = 0; i < rig->settings->axes; i++) rig->goal[i] = channel(d, i);
    return rig->settings->in_step ? take_step(rig, now, answer) : 0;
}

/* Everything that comes from outside passes here, in the order that the protocol prescribes. */
size_t hr_hear(hr_rig *rig, const uint8_t *bytes, size_t length, uint64_t from, int64_t now,
               uint8_t answer[HR_LONGEST]) {
    hr_bits key;
    Heard d;
    look_at_lease(rig, now);
    if (!is_whole(bytes, length)) { rig->counter[HR_TRUNCATED]++; return 0; }
    if (!is_ours(bytes)) { rig->counter[HR_FOREIGN]++; return 0; }
    d = decode(bytes);
    age_offers(rig, now);
    if (!belongs(rig, &d, from)) { rig->counter[HR_FOREIGN]++; return 0; }
    key = key_of(rig, &d); /* what belongs here is no longer than HR_ROOM */
    if (!is_genuine(bytes, length, key)) { rig->counter[HR_CORRUPTED]++; return 0; }
    if (d.kind == HR_HELLO) return greet(rig, &d, now, answer);
    if (!is_finite(&d)) { rig->counter[HR_CORRUPTED]++; return 0; }
    if (d.session != rig->session) return arm(rig, &d, key, from, now, answer); /* belongs() let nothing else come */
    if (d.kind == HR_STOP) return obey_stop(rig, &d, now, answer);
    if (!is_new(rig, d.sequence) || rig->state != HR_ARMED) return 0; /* safe, it obeys no more of this session */
    return obey_command(rig, &d, now, answer);
}

static bool has_a_clock(const hr_rig *rig) { return !rig->settings->in_step || is_moving_to_safety(rig); }

int64_t hr_due(const hr_rig *rig) {
    int64_t due = has_a_clock(rig) ? rig->next_step : INT64_MAX;
    if (rig->state == HR_ARMED && rig->expires < due) due = rig->expires;
    return due;
}

size_t hr_tick(hr_rig *rig, int64_t now, uint8_t answer[HR_LONGEST]) {
    size_t length = 0;
    look_at_lease(rig, now);
    if (has_a_clock(rig) && now >= rig->next_step) {
        length = take_step(rig, now, answer);
        rig->next_step += rig->period;
        if (rig->next_step <= now) { /* steps that the machine slept through are counted, not made up for */
            const int64_t missed = (now - rig->next_step) / rig->period + 1;
            rig->counter[HR_MISSED] += (uint64_t)missed;
            rig->next_step += missed * rig->period;
        }
    }
    return length;
}

size_t hr_stop(hr_rig *rig, int64_t now, uint8_t answer[HR_LONGEST]) {
    if (rig->state == HR_IDLE) return 0;
    if (may_be_stopped(rig, HR_EMERGENCY_STOP)) make_safe_by(rig, HR_EMERGENCY_STOP, HR_STOPPED, now);
    return measurement(rig, now, answer);
}

static const char *wrong_with(const hr_settings *own) {
    if (own->axes < 1 || own->axes > HR_AXES) return "axes: from 1 to HR_AXES";
    if (own->auxiliary > HR_AUXILIARY) return "auxiliary: at most HR_AUXILIARY";
    if (!(own->step >= 1e-6 && own->step <= 10.0)) return "step: from 1e-6 to 10 s";
    if (!(own->longest_lease > 0.0 && own->longest_lease <= 3600.0)) return "longest_lease: above 0, at most 3600 s";
    if (!(own->return_time >= 0.0 && own->return_time <= 3600.0)) return "return_time: from 0 to 3600 s";
    if (own->nature != 1 && own->nature != 2) return "nature: 1 simulated, 2 real";
    if (own->name == NULL) return "name: a text";
    if (own->actuate == NULL || own->measure == NULL || own->random == NULL) return "actuate, measure, random: functions";
    if (own->stroke == NULL || own->rate == NULL || own->largest_step == NULL) return "limits: of each axis";
    for (int i = 0; i < own->axes; i++)
        if (!(own->stroke[i] > 0.0 && own->rate[i] > 0.0 && own->largest_step[i] > 0.0) || !is_number(own->rate[i]) ||
            (own->braking != NULL && !(own->braking[i] > 0.0)))
            return "limits: above 0, the rate finite";
    return NULL;
}

const char *hr_begin(hr_rig *rig, const hr_settings *settings, int64_t now) {
    const char *wrong = wrong_with(settings);
    if (wrong != NULL) return wrong;
    *rig = (hr_rig){0};
    rig->settings = settings;
    rig->state = HR_IDLE;
    rig->secret.word[0] = get(settings->secret, 8);
    rig->secret.word[1] = get(settings->secret + 8, 8);
    rig->handshake = session_key(rig, 0, 0);
    rig->period = (int64_t)(settings->step * 1e9 + 0.5);
    rig->next_step = now + rig->period;
    rig->last_step = now;
    hold_as_measured(rig);
    copy(rig->goal, rig->applied, settings->axes);
    return NULL;
}

/* ---- 4. Serial lines --------------------------------------------------------------------------------------------- */

/* Blocks of up to 254 bytes without zeros, each after its length + 1; behind each but a full one, and but for the last,
 * a zero was left out.  The zero in front ends what may have been cut off before. */
size_t hr_frame(const uint8_t *datagram, size_t length, uint8_t *frame) {
    size_t at = 2, block = 1;
    frame[0] = 0;
    frame[block] = 1;
    for (size_t i = 0; i < length; i++) {
        if (datagram[i] != 0) {
            frame[at++] = datagram[i];
            frame[block]++;
        }
        if (datagram[i] == 0 || (frame[block] == 255 && i + 1 < length)) {
            block = at++;
            frame[block] = 1;
        }
    }
    frame[at++] = 0;
    return at;
}

static void keep(hr_unframed *line, uint8_t byte) {
    if (line->length < HR_ROOM) line->bytes[line->length] = byte;
    if (line->length <= HR_LONGEST) line->length++; /* no further: a line that is never silent must not count round */
}

bool hr_unframe(hr_unframed *line, uint8_t byte) {
    if (line->ended) { /* what was whole has been heard */
        line->ended = false;
        line->length = 0;
        line->block = line->left = 0;
    }
    if (byte == 0) {
        if (line->block == 0) return false; /* nothing between two zeros */
        if (line->left != 0) line->length = 1; /* cut off: no datagram is so short, and it is counted as truncated */
        line->ended = true;
        return true;
    }
    if (line->left > 0) {
        keep(line, byte);
        line->left--;
    } else {
        if (line->block != 0 && line->block != 255) keep(line, 0);
        line->block = byte;
        line->left = (uint8_t)(byte - 1);
    }
    return false;
}

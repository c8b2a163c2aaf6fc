/* The rig's end of the link between a halfreal controller and a rig, over UDP: a reference to start from.
 *
 * docs/link.md is the protocol.  To build and run (Linux, C11, nothing but the C library):
 *
 *     cc -O2 -Wall -Wextra -Werror -std=gnu11 rig.c -o rig -lm
 *     ./rig PORT [OPTIONS]
 *
 *     PORT            to listen on; 0 takes a free one, which is in the first line printed
 *     --address       of the network card that leads to the controller [127.0.0.1]
 *     --key           file with the secret that the controller has too, made by "halfreal key"; of mode 600
 *     --unauthenticated   the reason for doing without, which an address that others can reach needs
 *     --step          of the rig's clock [0.001 s]; the controller's must be the same
 *     --axes          number of interface axes [1]
 *     --auxiliary     number of auxiliary channels [0], measured besides displacements and forces
 *     --stiffness     of the simulated specimen, each axis [100000 N/m]
 *     --stroke        largest position to either side, each axis [0.250 m]
 *     --rate          fastest change of the position, each axis [0.5 m/s]
 *     --largest-step  of a command from the position applied, each axis [0.005 m]
 *     --return        when safe, return in this time to where the rig stood when armed [0: hold]; no faster than --rate
 *     --lease         longest lease it grants [1 s]
 *     --in-step       one step and one measurement for each new command, instead of a clock of its own
 *
 * It prints a line at each change of state, and ends on SIGTERM or SIGINT with its counters as a line of JSON.
 *
 * Five parts: 1 datagrams, 2 the hardware, 3 the limits, 4 the session, 5 the loop.  A laboratory replaces part 2 (here
 * a simulated actuator and spring) and the constants below, says in NATURE and NAME that it is real and who
 * it is, sets its limits, and starts it with a real-time priority: chrt -f 80 ./rig
 *
 * The rig protects itself: whatever the controller asks for, at whatever pace, part 3 is all that reaches the hardware.
 *
 * One thread, no dynamic memory.  Nothing that comes from the network is used before it has passed every check in
 * hear(), and nothing but the network is ever waited for: not the controller, not whoever reads the printed lines.
 */
#define _GNU_SOURCE /* ppoll, getrandom */
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIME_CONSTANT 0.010 /* of the simulated actuator [s] */
#define SETTLING 0.1        /* once its safe position is reached, the rig counts as at rest after this time [s] */
#define OFFERED 300         /* a number offered for a session is good for so long [s] to twice as long */
#define NATURE 1            /* 1: this rig is simulated; 2: it is real.  Run files and reports say so */
#define NAME "rig.c 1, a lag of first order and a spring" /* and its version: UTF-8, at most 96 bytes */

#define NANO INT64_C(1000000000)

enum { AXES = 64, AUXILIARY = 64, ASKED = 4, IDENTITY = 13, CHANNELS = 5 * AXES + AUXILIARY + IDENTITY };
enum { HEADER = 56, TAG = 16, SHORTEST = HEADER + TAG, LONGEST = SHORTEST + 8 * CHANNELS };
enum { HELLO = 1, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP };  /* kinds */
enum { IDLE = 1, ARMED, SAFE };                                       /* states */
enum { NO_COMMAND = 1, OWN_LIMIT, EMERGENCY_STOP };                   /* codes when safe */
enum { BUSY = 1, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG, OTHER_AUXILIARY }; /* codes of a refusal */
enum { ASKS_WHO = 1 };                                                /* code of a HELLO */

/* What is counted, from the start of the program. */
enum { HELLOS, ACCEPTED, TRUNCATED, FOREIGN, CORRUPTED, REPLAYED, DUPLICATED, REORDERED, LOST, SENT, UNSENT, MISSED,
       COUNTERS };
static const char *const counter_name[COUNTERS] = {
    "hellos", "accepted", "truncated", "foreign", "corrupted", "replayed", "duplicated", "reordered", "lost", "sent",
    "unsent", "missed"};
static uint64_t counter[COUNTERS];

static struct {
    double step, stiffness, return_time, longest_lease; /* [s], [N/m], [s], [s] */
    double stroke, rate, largest_step;                  /* [m], [m/s], [m] */
    uint16_t axes, auxiliary;
    bool in_step;
    uint32_t address;        /* in the host's order */
    const char *key_file;    /* NULL: none */
    const char *no_key;      /* the reason for none; NULL: none was given */
} settings = {.step = 0.001, .stiffness = 1e5, .return_time = 0.0, .longest_lease = 1.0,
              .stroke = 0.250, .rate = 0.5, .largest_step = 0.005, .axes = 1, .auxiliary = 0,
              .in_step = false, .address = INADDR_LOOPBACK, .key_file = NULL, .no_key = NULL};

_Static_assert(sizeof(double) == 8, "channels are IEEE 754 doubles");
_Static_assert(sizeof NAME - 1 <= 8 * (IDENTITY - 1), "the rig's name has at most 96 bytes");

_Noreturn static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static int64_t clock_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) fail("rig: no monotonic clock");
    return (int64_t)now.tv_sec * NANO + now.tv_nsec;
}

/* Print a line: the text and the counters as JSON.  It is dropped if it would have to be waited for: a log that no one
 * reads must not hold up the lease. */
static void report(const char *text) {
    char line[1024];
    int length = snprintf(line, sizeof line, "%s{", text);
    for (int i = 0; i < COUNTERS && length > 0 && length < (int)sizeof line; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "\"%s\": %ju%s", counter_name[i],
                           (uintmax_t)counter[i], i < COUNTERS - 1 ? ", " : "}\n");
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (length <= 0 || length >= (int)sizeof line || poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT)) return;
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) return; /* nor is it tried again */
}

/* ---- 1. Datagrams ------------------------------------------------------------------------------------------------ */

static const uint32_t MAGIC = UINT32_C(0x4C524648);
static const uint8_t VERSION = 4;

typedef struct {
    uint8_t kind;
    uint16_t count;
    uint64_t session, sequence, answers;
    int64_t tick;
    uint32_t state, code;
    double channel[CHANNELS];
} Datagram;

/* Little-endian numbers byte by byte: right on any host, and at any alignment. */
static uint64_t get(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void put(uint8_t *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* A key of SipHash, and a tag: 128 bits. */
typedef struct {
    uint64_t word[2];
} Bits;

static Bits secret;    /* what both ends know, and nobody else; 0: nothing */
static Bits handshake; /* key of HELLO, OFFER and REFUSAL */

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
static Bits siphash(const uint8_t *bytes, size_t length, Bits key) {
    uint64_t v[4] = {key.word[0] ^ UINT64_C(0x736f6d6570736575), key.word[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                     key.word[0] ^ UINT64_C(0x6c7967656e657261), key.word[1] ^ UINT64_C(0x7465646279746573)};
    for (size_t at = 0; at <= length; at += 8) {
        const int left = length - at >= 8 ? 8 : (int)(length - at);
        const uint64_t m = get(bytes + at, left) | (left < 8 ? (uint64_t)length << 56 : 0);
        v[3] ^= m;
        sip_rounds(v, 2);
        v[0] ^= m;
    }
    Bits tag;
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
static Bits session_key(uint64_t asked, uint64_t offered) {
    uint8_t text[24] = "halfreal";
    if (secret.word[0] == 0 && secret.word[1] == 0) return secret;
    put(text + 8, asked, 8);
    put(text + 16, offered, 8);
    return siphash(text, sizeof text, secret);
}

static bool is_whole(const uint8_t *bytes, size_t length) {
    return length >= SHORTEST && length == SHORTEST + 8 * (size_t)get(bytes + 6, 2);
}

static bool is_ours(const uint8_t *bytes) {
    return get(bytes, 4) == MAGIC && bytes[4] == VERSION && get(bytes + 6, 2) <= CHANNELS;
}

/* Whether the tag fits; how long this takes does not tell where it differs. */
static bool is_genuine(const uint8_t *bytes, size_t length, Bits key) {
    const Bits tag = siphash(bytes, length - TAG, key);
    return ((tag.word[0] ^ get(bytes + length - TAG, 8)) | (tag.word[1] ^ get(bytes + length - 8, 8))) == 0;
}

/* What a rig uses of a datagram.  Only for what is_whole and is_ours: they bound the count. */
static void decode(const uint8_t *bytes, Datagram *d) {
    d->kind = bytes[5];
    d->count = (uint16_t)get(bytes + 6, 2);
    d->session = get(bytes + 8, 8);
    d->sequence = get(bytes + 16, 8);
    d->answers = get(bytes + 24, 8);
    d->tick = (int64_t)get(bytes + 32, 8);
    d->code = (uint32_t)get(bytes + 52, 4);
    for (int i = 0; i < d->count; i++) {
        const uint64_t bits = get(bytes + HEADER + 8 * i, 8);
        memcpy(&d->channel[i], &bits, 8);
    }
}

static size_t encode(const Datagram *d, Bits key, uint8_t bytes[LONGEST]) {
    put(bytes, MAGIC, 4);
    bytes[4] = VERSION;
    bytes[5] = d->kind;
    put(bytes + 6, d->count, 2);
    put(bytes + 8, d->session, 8);
    put(bytes + 16, d->sequence, 8);
    put(bytes + 24, d->answers, 8);
    put(bytes + 32, (uint64_t)d->tick, 8);
    put(bytes + 40, (uint64_t)clock_ns(), 8);
    put(bytes + 48, d->state, 4);
    put(bytes + 52, d->code, 4);
    for (int i = 0; i < d->count; i++) {
        uint64_t bits;
        memcpy(&bits, &d->channel[i], 8);
        put(bytes + HEADER + 8 * i, bits, 8);
    }
    const size_t length = HEADER + 8 * (size_t)d->count;
    const Bits tag = siphash(bytes, length, key);
    put(bytes + length, tag.word[0], 8);
    put(bytes + length + 8, tag.word[1], 8);
    return length + TAG;
}

/* ---- 2. The hardware: replace these two -------------------------------------------------------------------------- */

static double simulated[AXES]; /* where the simulated actuators are [m] */

/* Called once a step with the positions to go to [m].  Returns 0; or, without moving, the code for which the rig must
 * make itself safe: OWN_LIMIT, EMERGENCY_STOP.  Here: an actuator that follows with a lag of first order. */
static uint32_t actuate(const double position[]) {
    for (int i = 0; i < settings.axes; i++)
        simulated[i] += (1.0 - exp(-settings.step / TIME_CONSTANT)) * (position[i] - simulated[i]);
    return 0;
}

/* Read the sensors: displacements [m], forces [N], and the auxiliary channels, each in the unit and at the place that
 * the definition gives it.  Called after each step, and when a session or a safe motion starts.  Here: no noise, a
 * linear spring; auxiliary channel i is i times the first displacement, i = 1, 2, ... */
static void measure(double displacement[], double force[], double auxiliary[]) {
    for (int i = 0; i < settings.axes; i++) {
        displacement[i] = simulated[i];
        force[i] = settings.stiffness * simulated[i];
    }
    for (int i = 0; i < settings.auxiliary; i++) auxiliary[i] = (i + 1) * simulated[0];
}

/* ---- 3. The limits: nothing moves the hardware but what passes here ---------------------------------------------- */

static struct {
    double position[AXES]; /* that the hardware was last given [m] */
    int64_t time;          /* of the last step [ns] */
} applied;

/* An axis whose sensor gives no number stays at the position last applied. */
static void hold_where_it_stands(void) {
    double stands[AXES], force[AXES], auxiliary[AUXILIARY];
    measure(stands, force, auxiliary);
    for (int i = 0; i < settings.axes; i++)
        if (isfinite(stands[i])) applied.position[i] = stands[i];
}

/* Whether a command may be followed; if not, why not.  Written so that NaN may not. */
static bool is_allowed(const double command[], char *why, size_t room) {
    for (int i = 0; i < settings.axes; i++) {
        const double step = fabs(command[i] - applied.position[i]);
        if (!(fabs(command[i]) <= settings.stroke)) {
            (void)snprintf(why, room, "own limit, axis %d: command %g m, stroke %g m", i + 1, command[i],
                           settings.stroke);
            return false;
        }
        if (!(step <= settings.largest_step)) {
            (void)snprintf(why, room, "own limit, axis %d: command %g m, %g m from the position applied, largest %g m",
                           i + 1, command[i], step, settings.largest_step);
            return false;
        }
    }
    return true;
}

/* Wall time for which the rig may move in this step [s]: an early step has less of it, a late one no more than any. */
static double time_of_step(int64_t now) {
    const double passed = (double)(now - applied.time) / 1e9;
    applied.time = now;
    return fmin(passed, settings.step);
}

/* Go towards the goal, no faster than the rate. */
static uint32_t follow(const double goal[], double seconds) {
    const double most = settings.rate * seconds;
    for (int i = 0; i < settings.axes; i++) {
        const double way = goal[i] - applied.position[i];
        applied.position[i] = fabs(way) <= most ? goal[i] : applied.position[i] + copysign(most, way);
    }
    return actuate(applied.position);
}

/* ---- 4. The session ---------------------------------------------------------------------------------------------- */

static int socket_fd;

static struct {
    uint32_t state, code;
    uint64_t offered, before; /* numbers that may be armed: that of offers now, and the one before it; 0: none */
    int64_t renewed;          /* when the first was made [ns] */
    uint64_t session;         /* number of the session; 0: none */
    Bits key;                 /* of its datagrams */
    struct sockaddr_in peer;  /* who opened it; nobody else is heard in it */
    uint64_t newest, seen;   /* newest sequence accepted; bit i: newest - i has come */
    double most_ahead;       /* of the newest that a sequence may be */
    uint64_t sent;           /* sequence of our newest measurement */
    int64_t tick;            /* of the newest command */
    int64_t lease, expires;  /* [ns] */
    double goal[AXES];       /* where it is to go: the newest command, or the next point of its way to safety */
    double home[AXES];       /* where it stood when armed */
    double from[AXES], to[AXES];
    double way_time, way_end; /* spent on the way from .. to, and in all [s]; SETTLING after its end it is at rest */
    int64_t next_step;        /* [ns] */
} rig = {.state = IDLE};

static bool is_moving_to_safety(void) { return rig.state == SAFE && rig.way_time < rig.way_end + SETTLING; }

/* A datagram that cannot be sent is lost like any other: counted, never tried again. */
static void transmit(const Datagram *d, Bits key, const struct sockaddr_in *to) {
    uint8_t bytes[LONGEST];
    const size_t length = encode(d, key, bytes);
    const ssize_t sent = sendto(socket_fd, bytes, length, MSG_DONTWAIT, (const struct sockaddr *)to, sizeof *to);
    counter[sent == (ssize_t)length ? SENT : UNSENT]++;
}

static void send_measurement(void) {
    const int n = settings.axes;
    Datagram d = {.kind = MEASUREMENT, .count = (uint16_t)(2 * n + settings.auxiliary), .session = rig.session,
                  .sequence = ++rig.sent, .answers = rig.newest, .state = rig.state,
                  .code = rig.state == SAFE ? rig.code : 0};
    d.tick = (int64_t)((uint64_t)rig.tick + 1); /* unsigned: whatever tick the network brought, no overflow */
    measure(d.channel, d.channel + n, d.channel + 2 * n);
    transmit(&d, rig.key, &rig.peer);
}

static void hold(void) {
    hold_where_it_stands();
    memcpy(rig.goal, applied.position, sizeof rig.goal);
}

/* The fastest point of the way to safety is at 1.875 times its mean speed: it lasts long enough to keep to the rate. */
static double return_time(void) {
    double longest = settings.return_time;
    for (int i = 0; i < settings.axes; i++)
        longest = fmax(longest, 1.875 * fabs(rig.to[i] - rig.from[i]) / settings.rate);
    return longest;
}

static void make_safe(uint32_t code, const char *why) {
    rig.state = SAFE;
    rig.code = code;
    hold();
    memcpy(rig.from, rig.goal, sizeof rig.from);
    const bool returns = settings.return_time > 0.0 && code != EMERGENCY_STOP; /* after which nothing may move */
    memcpy(rig.to, returns ? rig.home : rig.from, sizeof rig.to);
    rig.way_time = 0.0;
    rig.way_end = return_time();
    if (settings.in_step) rig.next_step = clock_ns(); /* from here on its own clock leads it */
    char text[160];
    (void)snprintf(text, sizeof text, "safe: %s ", why);
    report(text);
}

/* The next point of the way to safety: velocity and acceleration are zero at both ends.  Its time is that of the steps:
 * one that the computer missed makes the way longer, but never makes it jump. */
static void advance_to_safety(double seconds) {
    rig.way_time += seconds;
    const double x = rig.way_time < rig.way_end ? rig.way_time / rig.way_end : 1.0;
    const double done = x * x * x * (10.0 + x * (6.0 * x - 15.0));
    for (int i = 0; i < settings.axes; i++)
        rig.goal[i] = x < 1.0 ? rig.from[i] + done * (rig.to[i] - rig.from[i]) : rig.to[i];
}

static void take_step(int64_t now) {
    const bool moving = is_moving_to_safety();
    const double seconds = time_of_step(now);
    if (moving) advance_to_safety(seconds);
    const uint32_t code = follow(rig.goal, seconds);
    if (code != 0 && rig.state == ARMED) make_safe(code, code == OWN_LIMIT ? "own limit" : "emergency stop");
    if (rig.state == ARMED || moving || is_moving_to_safety()) send_measurement();
    if (moving && !is_moving_to_safety()) report("safe: at rest ");
}

/* Only to who asks: a controller that knows nothing of it expects what is measured and the limits, and no more. */
static void say_who(Datagram *offer) {
    uint8_t name[8 * (IDENTITY - 1)] = {0};
    memcpy(name, NAME, sizeof NAME - 1);
    offer->channel[offer->count++] = NATURE;
    for (size_t i = 0; i < sizeof name; i += 8) {
        const uint64_t bits = get(name + i, 8); /* on the wire the bytes stand in this order */
        memcpy(&offer->channel[offer->count++], &bits, 8);
    }
}

/* Offers of one time all have the same number, so that asking leaves nothing behind: nobody's HELLO, new or recorded,
 * spoils the offer that another one has got.  A number is good for one session, and not for long. */
static void renew(int64_t now) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) number = 0; /* then nothing is offered */
    rig.before = 0;
    rig.offered = number;
    rig.renewed = now;
}

static void age_offers(int64_t now) {
    const int64_t age = now - rig.renewed;
    if (rig.offered != 0 && age < OFFERED * NANO) return;
    const uint64_t before = age < 2 * OFFERED * NANO ? rig.offered : 0;
    renew(now);
    rig.before = before;
}

/* Why what HELLO or ARM asks for cannot be granted; 0: it can.  Comparisons are written so that NaN is refused. */
static uint32_t is_against(const Datagram *asked) {
    if (rig.state == ARMED || is_moving_to_safety()) return BUSY;
    if (!(fabs(asked->channel[0] - settings.step) <= 1e-9 * settings.step)) return OTHER_STEP;
    if (!(asked->channel[1] == settings.axes)) return OTHER_AXES;
    if (!(asked->channel[3] == settings.auxiliary)) return OTHER_AUXILIARY;
    if (!(asked->channel[2] > 0.0 && asked->channel[2] <= settings.longest_lease)) return LEASE_TOO_LONG;
    return 0;
}

static void greet(const Datagram *hello, const struct sockaddr_in *from) {
    counter[HELLOS]++;
    const uint32_t refused = is_against(hello);
    Datagram d = {.answers = hello->sequence, .state = rig.state, .code = refused};
    if (refused != 0) {
        d.kind = REFUSAL;
        d.count = 3;
        d.channel[0] = settings.step;
        d.channel[1] = settings.axes;
        d.channel[2] = settings.auxiliary;
    } else {
        if (rig.offered == 0) return; /* it will ask again */
        d.kind = OFFER;
        const int n = settings.axes, m = settings.auxiliary;
        d.count = (uint16_t)(5 * n + m);
        d.session = rig.offered;
        d.code = rig.state == SAFE ? rig.code : 0;
        measure(d.channel, d.channel + n, d.channel + 2 * n);
        for (int i = 0; i < n; i++) {
            d.channel[2 * n + m + i] = settings.stroke;
            d.channel[3 * n + m + i] = settings.rate;
            d.channel[4 * n + m + i] = settings.largest_step;
        }
        if (hello->code == ASKS_WHO) say_who(&d);
    }
    transmit(&d, handshake, from);
}

/* Arming moves nothing: the rig goes on holding where it stands.  A first measurement lets the controller begin, also
 * if the rig works in step. */
static void arm(const Datagram *d, Bits key, const struct sockaddr_in *from, int64_t now) {
    if (is_against(d) != 0) { counter[FOREIGN]++; return; }
    counter[ACCEPTED]++;
    rig.state = ARMED;
    rig.session = d->session;
    rig.key = key;
    rig.peer = *from;
    rig.lease = (int64_t)(d->channel[2] * 1e9);
    rig.most_ahead = 2.0 * d->channel[2] / settings.step + 64.0;
    renew(now); /* no number opens two sessions */
    rig.newest = d->sequence;
    rig.seen = UINT64_MAX; /* nothing can come before the first one */
    rig.sent = 0;
    rig.tick = d->tick;
    rig.expires = now + rig.lease;
    hold();
    memcpy(rig.home, rig.goal, sizeof rig.home);
    send_measurement();
    report("armed ");
}

static void stop(void) {
    rig.state = IDLE;
    hold();
    send_measurement();
    rig.session = 0;
    report("idle ");
}

/* The window: is this sequence newer than every one before it?  What is not is counted. */
static bool is_new(uint64_t sequence) {
    if (sequence > rig.newest) {
        const uint64_t ahead = sequence - rig.newest;
        counter[ACCEPTED]++;
        counter[LOST] += ahead - 1;
        rig.seen = (ahead < 64 ? rig.seen << ahead : 0) | 1;
        rig.newest = sequence;
        return true;
    }
    const uint64_t behind = rig.newest - sequence;
    if (behind >= 64) {
        counter[REPLAYED]++;
    } else if ((rig.seen >> behind) & 1) {
        counter[DUPLICATED]++;
    } else {
        counter[REORDERED]++;
        counter[LOST]--;
        rig.seen |= UINT64_C(1) << behind;
    }
    return false;
}

static bool is_too_far_ahead(uint64_t sequence) {
    return sequence > rig.newest && (double)(sequence - rig.newest) > rig.most_ahead;
}

/* HELLO belongs to no session, so it may be said at any time: who finds the rig busy gets an answer.  ARM is the first
 * datagram of a session and stays welcome there: a second copy of it is a duplicate, not a stranger.  A command from
 * far ahead was never sent by the controller: accepted, it would make replays of all that the controller sends. */
static bool belongs(const Datagram *d, const struct sockaddr_in *from) {
    if (d->kind == HELLO) return d->session == 0 && d->count == ASKED;
    if (d->session == 0) return false;
    if (d->session != rig.session) /* a session that is not open yet */
        return d->kind == ARM && d->sequence == 1 && d->count == ASKED &&
               (d->session == rig.offered || d->session == rig.before);
    if (from->sin_addr.s_addr != rig.peer.sin_addr.s_addr || from->sin_port != rig.peer.sin_port) return false;
    if (d->kind == ARM) return d->sequence == 1 && d->count == ASKED;
    if (d->kind == STOP) return d->count == 0;
    return d->kind == COMMAND && d->count == settings.axes && !is_too_far_ahead(d->sequence);
}

/* The key that a datagram which belongs here must have been tagged with. */
static Bits key_of(const Datagram *d) {
    if (d->kind == HELLO) return handshake;
    return d->session == rig.session ? rig.key : session_key(d->answers, d->session);
}

static bool is_finite(const Datagram *d) {
    for (int i = 0; i < d->count; i++)
        if (!isfinite(d->channel[i])) return false;
    return true;
}

/* STOP counts whatever its sequence: nothing that came before it may keep the controller from stopping the rig.  If the
 * rig is safe, its answer says so. */
static void obey_stop(const Datagram *d) {
    if (d->sequence > rig.newest && !is_too_far_ahead(d->sequence)) (void)is_new(d->sequence);
    else counter[ACCEPTED]++;
    if (rig.state == ARMED) stop();
    else send_measurement();
}

static void obey_command(const Datagram *d, int64_t now) {
    char why[128];
    rig.tick = d->tick;
    rig.expires = now + rig.lease;
    if (!is_allowed(d->channel, why, sizeof why)) { make_safe(OWN_LIMIT, why); return; }
    memcpy(rig.goal, d->channel, settings.axes * sizeof rig.goal[0]);
    if (settings.in_step) take_step(now);
}

/* Everything that comes from the network passes here, in the order that the protocol prescribes. */
static void hear(const uint8_t *bytes, size_t length, const struct sockaddr_in *from, int64_t now) {
    static Datagram d;
    if (!is_whole(bytes, length)) { counter[TRUNCATED]++; return; }
    if (!is_ours(bytes)) { counter[FOREIGN]++; return; }
    decode(bytes, &d);
    age_offers(now);
    if (!belongs(&d, from)) { counter[FOREIGN]++; return; }
    const Bits key = key_of(&d);
    if (!is_genuine(bytes, length, key)) { counter[CORRUPTED]++; return; }
    if (d.kind == HELLO) { greet(&d, from); return; }
    if (!is_finite(&d)) { counter[CORRUPTED]++; return; }
    if (d.session != rig.session) { arm(&d, key, from, now); return; } /* belongs() let nothing but ARM come here */
    if (d.kind == STOP) { obey_stop(&d); return; }
    if (is_new(d.sequence) && rig.state == ARMED) obey_command(&d, now); /* safe, it obeys no more of this session */
}

/* ---- 5. The loop ------------------------------------------------------------------------------------------------- */

static void receive(int64_t now) {
    uint8_t bytes[LONGEST] = {0};
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    /* MSG_TRUNC: the true length, also of what is longer than any of ours.  Errors are not acted upon: if the network
     * is gone, so are the commands, and the lease does the rest. */
    const ssize_t length =
        recvfrom(socket_fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &size);
    if (length >= 0 && size == sizeof from) hear(bytes, (size_t)length, &from, now);
}

/* One datagram at most each time round, so that a flood of them holds up neither the lease nor the step. */
static void run(int signal_fd) {
    const int64_t period = (int64_t)llround(settings.step * 1e9);
    struct pollfd sources[2] = {{.fd = socket_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    rig.next_step = clock_ns() + period;
    for (;;) {
        int64_t wake = INT64_MAX;
        if (!settings.in_step || is_moving_to_safety()) wake = rig.next_step;
        if (rig.state == ARMED && rig.expires < wake) wake = rig.expires;
        const int64_t left = wake - clock_ns();
        const struct timespec timeout = {.tv_sec = left > 0 ? left / NANO : 0, .tv_nsec = left > 0 ? left % NANO : 0};
        const int ready = ppoll(sources, 2, wake == INT64_MAX ? NULL : &timeout, NULL);
        const int64_t now = clock_ns();

        /* First the lease: a command that comes after its end must not renew it. */
        if (rig.state == ARMED && now >= rig.expires) {
            char why[64];
            (void)snprintf(why, sizeof why, "no valid command for %.3f s", (double)rig.lease / 1e9);
            make_safe(NO_COMMAND, why);
        }
        if ((!settings.in_step || is_moving_to_safety()) && now >= rig.next_step) {
            take_step(now);
            rig.next_step += period;
            if (rig.next_step <= now) { /* steps that the computer slept through are counted, not made up for */
                const int64_t missed = (now - rig.next_step) / period + 1;
                counter[MISSED] += (uint64_t)missed;
                rig.next_step += missed * period;
            }
        }
        if (ready > 0 && sources[1].revents != 0) return;
        if (ready > 0 && sources[0].revents != 0) receive(now);
    }
}

static double number(const char *text, double low, double high, bool whole, const char *what) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high) || (whole && value != floor(value))) {
        fprintf(stderr, "rig: %s is %s, but must be a %s from %g to %g\n", what, text,
                whole ? "whole number" : "number", low, high);
        exit(2);
    }
    return value;
}

static double positive(const char *text, const char *what) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0 && isfinite(value))) {
        fprintf(stderr, "rig: %s is %s, but must be a finite number above 0\n", what, text);
        exit(2);
    }
    return value;
}

static uint32_t network_address(const char *text) {
    struct in_addr address;
    if (inet_pton(AF_INET, text, &address) != 1) {
        fprintf(stderr, "rig: --address is %s, but must be of the form 192.168.1.2\n", text);
        exit(2);
    }
    return ntohl(address.s_addr);
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

_Noreturn static void bad_key_file(const char *why) {
    fprintf(stderr, "rig: the key file %s %s\n", settings.key_file, why);
    exit(2);
}

/* The secret, if the file is this user's alone.  What is in it is never printed. */
static void read_secret(void) {
    uint8_t text[64] = {0}, key[TAG];
    struct stat found;
    const int fd = open(settings.key_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &found) != 0) bad_key_file("cannot be opened, or is a link; make one with: halfreal key");
    if (!S_ISREG(found.st_mode)) bad_key_file("is no plain file");
    if (found.st_uid != geteuid()) bad_key_file("belongs to another user");
    if ((found.st_mode & 077) != 0) bad_key_file("can be read or written by others; its mode must be 600");
    const ssize_t length = read(fd, text, sizeof text - 1);
    (void)close(fd);
    bool good = length == 2 * TAG || (length == 2 * TAG + 1 && text[2 * TAG] == '\n');
    for (int i = 0; good && i < TAG; i++) {
        const int high = digit((char)text[2 * i]), low = digit((char)text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        key[i] = (uint8_t)(16 * high + low);
    }
    if (good) secret = (Bits){{get(key, 8), get(key + 8, 8)}};
    if (secret.word[0] == 0 && secret.word[1] == 0) bad_key_file("must hold 32 hexadecimal digits, not all zero");
    handshake = session_key(0, 0);
}

static uint16_t read_settings(int argc, char **argv) {
    static const struct option options[] = {
        {"step", required_argument, NULL, 's'},      {"axes", required_argument, NULL, 'a'},
        {"auxiliary", required_argument, NULL, 'x'},
        {"stiffness", required_argument, NULL, 'k'}, {"return", required_argument, NULL, 'r'},
        {"lease", required_argument, NULL, 'l'},     {"in-step", no_argument, NULL, 'i'},
        {"stroke", required_argument, NULL, 'p'},    {"rate", required_argument, NULL, 'v'},
        {"largest-step", required_argument, NULL, 'd'}, {"address", required_argument, NULL, 'b'},
        {"key", required_argument, NULL, 'y'},       {"unauthenticated", required_argument, NULL, 'u'},
        {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 's': settings.step = number(optarg, 1e-5, 10.0, false, "--step [s]"); break;
        case 'a': settings.axes = (uint16_t)number(optarg, 1, AXES, true, "--axes"); break;
        case 'x': settings.auxiliary = (uint16_t)number(optarg, 0, AUXILIARY, true, "--auxiliary"); break;
        case 'k': settings.stiffness = number(optarg, 0.0, 1e12, false, "--stiffness [N/m]"); break;
        case 'r': settings.return_time = number(optarg, 0.0, 3600.0, false, "--return [s]"); break;
        case 'l': settings.longest_lease = number(optarg, 1e-3, 3600.0, false, "--lease [s]"); break;
        case 'i': settings.in_step = true; break;
        case 'p': settings.stroke = positive(optarg, "--stroke [m]"); break;
        case 'v': settings.rate = positive(optarg, "--rate [m/s]"); break;
        case 'd': settings.largest_step = positive(optarg, "--largest-step [m]"); break;
        case 'b': settings.address = network_address(optarg); break;
        case 'y': settings.key_file = optarg; break;
        case 'u': settings.no_key = optarg; break;
        default: exit(2); /* getopt has said why */
        }
    }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: rig PORT [--step SECONDS] [--axes N] [--auxiliary N] [--stiffness N/m] [--stroke M] "
                        "[--rate M/S] [--largest-step M] [--return SECONDS] [--lease SECONDS] [--in-step] "
                        "[--address ADDRESS] [--key FILE | --unauthenticated REASON]\n");
        exit(2);
    }
    if (settings.key_file != NULL) read_secret();
    else if (settings.address >> 24 != 127 && (settings.no_key == NULL || settings.no_key[0] == '\0')) {
        fprintf(stderr, "rig: others can reach this address, and whoever reaches a rig could move it; give --key FILE, "
                        "or the reason for doing without as --unauthenticated REASON\n");
        exit(2);
    }
    return (uint16_t)number(argv[optind], 0, 65535, true, "PORT");
}

int main(int argc, char **argv) {
    const uint16_t port = read_settings(argc, argv);

    /* Signals are read in the loop like datagrams: nothing is interrupted half-way. */
    sigset_t ending;
    if (sigemptyset(&ending) != 0 || sigaddset(&ending, SIGTERM) != 0 || sigaddset(&ending, SIGINT) != 0 ||
        sigprocmask(SIG_BLOCK, &ending, NULL) != 0)
        fail("rig: signals");
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) fail("rig: signals"); /* a reader that went away must not end the rig */
    const int signal_fd = signalfd(-1, &ending, SFD_CLOEXEC);
    if (signal_fd < 0) fail("rig: signals");

    socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) fail("rig: socket");
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    here.sin_addr.s_addr = htonl(settings.address);
    socklen_t size = sizeof here;
    if (bind(socket_fd, (struct sockaddr *)&here, sizeof here) != 0) fail("rig: cannot listen on this port");
    if (getsockname(socket_fd, (struct sockaddr *)&here, &size) != 0) fail("rig: socket");
    char address[INET_ADDRSTRLEN];
    if (inet_ntop(AF_INET, &here.sin_addr, address, sizeof address) == NULL) fail("rig: socket");
    if (printf("listening on %s:%u\n", address, (unsigned)ntohs(here.sin_port)) < 0 || fflush(stdout) != 0)
        fail("rig: standard output");

    if (settings.key_file == NULL && settings.no_key != NULL)
        fprintf(stderr, "rig: not authenticated: %s\n", settings.no_key);
    applied.time = clock_ns();
    hold();
    run(signal_fd);

    if (rig.state == ARMED) { /* the operator ends the rig: the controller is to know */
        make_safe(EMERGENCY_STOP, "emergency stop");
        send_measurement();
    }
    report("");
    return EXIT_SUCCESS;
}

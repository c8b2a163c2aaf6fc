/* The rig's end of the link between a halfreal controller and a rig, as a library: docs/link.md is the protocol.
 *
 * C99, for a computer or a microcontroller: no operating system, no heap, no function of the C library.  Give it each
 * datagram that comes and the time; it gives back the answer to send.  Everything that a rig's end must do is inside:
 * tags, sessions, the lease, the rig's own limits, its way to safety.  Outside are the wire, the clock, random numbers
 * and the hardware, which are four functions of yours.
 *
 *     hr_begin(&rig, &settings, now)
 *     again and again:
 *         now = your clock
 *         if (now >= hr_due(&rig))        length = hr_tick(&rig, now, answer): send it to rig.peer, if length > 0
 *         if a datagram has come          length = hr_hear(&rig, bytes, bytes_that_came, from, now, answer): send it to
 *                                         whoever it came from, if length > 0
 *
 * rig.c does this over UDP on Linux, microbit/main.c over a serial line without an operating system.
 *
 * Numbers: doubles of IEEE 754, added, multiplied and compared, never more; so two machines give the same bits.  Build
 * it without -ffast-math, and with -ffp-contract=off where the processor can multiply and add at once.  Whatever comes
 * from outside, no index leaves its array, no integer overflows and no NaN moves the rig.
 */
#ifndef HALFREAL_RIG_H
#define HALFREAL_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef HR_AXES
#define HR_AXES 64 /* room for so many axes; fewer take less memory */
#endif
#ifndef HR_AUXILIARY
#define HR_AUXILIARY 64
#endif

enum { HR_VERSION = 4, HR_HEADER = 56, HR_TAG = 16, HR_SHORTEST = HR_HEADER + HR_TAG };
enum { HR_ASKED = 4, HR_IDENTITY = 13, HR_CHANNELS = 397 }; /* of HELLO; of who the rig is; most of any datagram */
enum {
    HR_ROOM = HR_SHORTEST + 8 * (HR_AXES > HR_ASKED ? HR_AXES : HR_ASKED),                   /* bytes that it may hear */
    HR_LONGEST = HR_SHORTEST + 8 * (5 * HR_AXES + HR_AUXILIARY + HR_IDENTITY)                /* and may answer */
};

enum { HR_HELLO = 1, HR_OFFER, HR_REFUSAL, HR_ARM, HR_COMMAND, HR_MEASUREMENT, HR_STOP };    /* kinds */
enum { HR_IDLE = 1, HR_ARMED, HR_SAFE };                                                     /* states */
enum { HR_NO_COMMAND = 1, HR_OWN_LIMIT, HR_EMERGENCY_STOP, HR_FAULT };                       /* codes when safe */
enum { HR_BUSY = 1, HR_OTHER_STEP, HR_OTHER_AXES, HR_LEASE_TOO_LONG, HR_OTHER_AUXILIARY };   /* codes of a refusal */
enum { HR_ASKS_WHO = 1 };                                                                    /* code of a HELLO */

/* What is counted, from hr_begin on. */
enum { HR_HELLOS, HR_ACCEPTED, HR_TRUNCATED, HR_FOREIGN, HR_CORRUPTED, HR_REPLAYED, HR_DUPLICATED, HR_REORDERED,
       HR_LOST, HR_MISSED, HR_COUNTERS };

/* A change of state, and what it is due to. */
typedef enum { HR_NOW_ARMED, HR_NOW_IDLE, HR_LEASE_OVER, HR_BEYOND_STROKE, HR_STEP_TOO_LONG, HR_HARDWARE_LIMIT,
               HR_STOPPED, HR_FAULTY, HR_AT_REST } hr_cause;

typedef struct {
    hr_cause cause;
    uint16_t axis;            /* of a command that is not followed, from 0 */
    double command, distance; /* of that axis, and from the position applied */
} hr_change;

struct hr_rig;

typedef struct {
    double step;          /* of the rig's clock, which the controller's must be [s] */
    double longest_lease; /* that it grants [s] */
    double return_time;   /* when safe, return in this time to where it stood when armed, no faster than its rate;
                             0: hold [s] */
    const double *stroke, *rate, *largest_step; /* of each axis: magnitude of a command, change of the position a
                             second, distance of a command from the position applied */
    const double *braking; /* of each axis: largest acceleration with which it stops and returns [m/s^2]; NULL: that of the
                             session's motion, at most 0.1 s long, and an emergency stop is at once */
    uint16_t axes, auxiliary;
    bool in_step;         /* one step and one measurement for each new command, instead of a clock of its own */
    uint8_t nature;       /* 1: simulated, 2: real.  Run files and reports say so */
    const char *name;     /* and version: UTF-8, of which 96 bytes are sent */
    uint8_t secret[HR_TAG]; /* that the controller has too; zeros: none, and tags are checksums */

    void *context;        /* for the functions that follow, NULL is as good as any */

    /* Called once a step with the positions to go to.  Returns 0, or, without moving, the code for which the rig must make
     * itself safe: HR_OWN_LIMIT, after which it may return, or HR_EMERGENCY_STOP or HR_FAULT (a sensor, an interlock),
     * after which it brakes and holds.  It is then called again in that step. */
    uint32_t (*actuate)(void *context, const double position[]);
    /* Read the sensors: displacements [m], forces [N], and auxiliary channels, each in the unit and at the place that
     * the definition gives it.  Called after each step, and when a session or a safe motion starts. */
    void (*measure)(void *context, double displacement[], double force[], double auxiliary[]);
    /* 64 bits that nobody can foretell, from the hardware's generator; 0: none now, and nothing is offered. */
    uint64_t (*random)(void *context);
    /* Told of each change of state; may be NULL.  It must not wait. */
    void (*changed)(void *context, const struct hr_rig *rig, const hr_change *change);
} hr_settings;

typedef struct { uint64_t word[2]; } hr_bits; /* a key of SipHash, and a tag */

/* Yours to read, not to write. */
typedef struct hr_rig {
    const hr_settings *settings;
    uint32_t state, code;
    uint64_t peer;            /* who opened the session, as hr_hear was given it; nobody else is heard in it */
    uint64_t counter[HR_COUNTERS];

    hr_bits secret, handshake; /* the key of HELLO, OFFER and REFUSAL */
    uint64_t offered, before; /* numbers that may be armed: that of offers now, and the one before it; 0: none */
    int64_t renewed;          /* when the first was made [ns] */
    uint64_t session;         /* number of the session; 0: none */
    hr_bits key;              /* of its datagrams */
    uint64_t newest, seen;    /* newest sequence accepted; bit i: newest - i has come */
    uint64_t most_ahead;      /* of the newest that a sequence may be */
    uint64_t sent;            /* sequence of our newest measurement */
    int64_t tick;             /* of the newest command */
    int64_t lease, expires, period, next_step, last_step; /* [ns] */
    double applied[HR_AXES];  /* the position that the hardware was last given */
    double goal[HR_AXES];     /* where it is to go: the newest command, or the next point of its way to safety */
    double home[HR_AXES];     /* where it stood when armed */
    double from[HR_AXES], to[HR_AXES]; /* where braking ends, and the way home */
    double moved[HR_AXES];    /* in the last step */
    double sharpest[HR_AXES]; /* largest acceleration of the session so far */
    double velocity[HR_AXES]; /* when it left for safety */
    double way_time, brake_end, way_end; /* spent on the way to safety, at the end of braking, and in all [s] */
    double measured[2 * HR_AXES + HR_AUXILIARY];
} hr_rig;

/* NULL, or what is wrong with the settings, which must stay where they are.  The rig holds where it stands. */
const char *hr_begin(hr_rig *rig, const hr_settings *settings, int64_t now);

/* A datagram of so many bytes, of which no more than HR_ROOM need be there; `from` is any number that tells senders
 * apart.  All times are of one clock that never goes back [ns].  Returns the length of the answer, 0 for none. */
size_t hr_hear(hr_rig *rig, const uint8_t *bytes, size_t length, uint64_t from, int64_t now,
               uint8_t answer[HR_LONGEST]);

/* The lease, and the step if one is due.  May be called at any time. */
size_t hr_tick(hr_rig *rig, int64_t now, uint8_t answer[HR_LONGEST]);

/* When hr_tick must be called; INT64_MAX: not before a datagram has come. */
int64_t hr_due(const hr_rig *rig);

/* The rig's own emergency stop: it holds, and a measurement says so if there is a session. */
size_t hr_stop(hr_rig *rig, int64_t now, uint8_t answer[HR_LONGEST]);

/* SipHash-2-4 with 128 bits; for rigs that make random numbers, or keep their settings, with it. */
hr_bits hr_siphash(const uint8_t *bytes, size_t length, hr_bits key);

/* Serial lines: a zero, the datagram with its zeros coded away (COBS, Cheshire and Baker, 1999), and a zero. */
#define HR_FRAMED(length) ((length) + (length) / 254 + 3)

/* Returns the bytes of the frame, at most HR_FRAMED(length). */
size_t hr_frame(const uint8_t *datagram, size_t length, uint8_t *frame);

typedef struct {
    uint8_t bytes[HR_ROOM]; /* of the datagram, as many as find room */
    size_t length;          /* that it had */
    uint8_t block, left;    /* first byte of the block of bytes without zeros; how many of it are to come */
    bool ended;
} hr_unframed;

/* The next byte of the line: whether a datagram is whole now, for hr_hear.  Begin with all zeros. */
bool hr_unframe(hr_unframed *line, uint8_t byte);

#endif

/* A rig's end of the link over UDP, on Linux: a reference to start from.
 *
 * The protocol is docs/link.md, all that a rig's end must do is in halfreal_rig.c, the hardware in simulated.c, which a
 * laboratory replaces.  Here are the network, the clock and the command line.  To build and run:
 *
 *     cc -O2 -Wall -Wextra -Werror -std=gnu11 rig.c halfreal_rig.c simulated.c -o rig -lm
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
 *     --braking       largest acceleration with which it stops and returns, each axis [m/s^2; that of the session, and an
 *                     emergency stop is at once]
 *     --return        when safe, return in this time to where the rig stood when armed [0: hold]; no faster than --rate
 *     --lease         longest lease it grants [1 s]
 *     --in-step       one step and one measurement for each new command, instead of a clock of its own
 *
 * It prints a line at each change of state, and ends on SIGTERM or SIGINT with its counters as a line of JSON.
 *
 * On a rig start it with a real-time priority: chrt -f 80 ./rig
 *
 * One thread, no dynamic memory.  Nothing but the network is ever waited for: not the controller, not whoever reads the
 * printed lines.
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
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "halfreal_rig.h"
#include "hardware.h"

#define NANO INT64_C(1000000000)

/* In step, the next command may come microseconds after an answer, sooner than a processor that sleeps wakes up: the rig
 * watches for it that long [ns], and only then goes to sleep.  Meanwhile it looks for a signal now and then [ns]. */
#define WATCHED INT64_C(30000)
#define SIGNALS INT64_C(5000000)

/* What is printed of the counters: those of the library in its order, and how many answers were sent, and were not. */
static const char *const counter_name[HR_COUNTERS] = {"hellos", "accepted", "truncated", "foreign", "corrupted",
                                                      "replayed", "duplicated", "reordered", "lost", "missed"};
static uint64_t sent, unsent;

static double stroke[HR_AXES], rate[HR_AXES], largest_step[HR_AXES], braking[HR_AXES];
static hr_settings settings = {.step = 0.001, .longest_lease = 1.0, .stroke = stroke, .rate = rate,
                               .largest_step = largest_step, .axes = 1, .nature = NATURE, .name = NAME,
                               .actuate = hardware_actuate, .measure = hardware_measure};
static hr_rig rig;
static double stiffness = 1e5;                /* [N/m] */
static uint32_t own_address = INADDR_LOOPBACK; /* in the host's order */
static const char *key_file, *no_key;         /* NULL: none; the reason for none */
static int socket_fd;

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
    for (int i = 0; i < HR_COUNTERS && length > 0 && length < (int)sizeof line; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "\"%s\": %ju, ", counter_name[i],
                           (uintmax_t)rig.counter[i]);
    if (length > 0 && length < (int)sizeof line)
        length += snprintf(line + length, sizeof line - (size_t)length, "\"sent\": %ju, \"unsent\": %ju}\n",
                           (uintmax_t)sent, (uintmax_t)unsent);
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (length <= 0 || length >= (int)sizeof line || poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT)) return;
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) return; /* nor is it tried again */
}

static void print_change(void *context, const hr_rig *of, const hr_change *change) {
    char text[160];
    const int axis = change->axis + 1;
    (void)context;
    switch (change->cause) {
    case HR_NOW_ARMED: report("armed "); return;
    case HR_NOW_IDLE: report("idle "); return;
    case HR_AT_REST: report("safe: at rest "); return;
    case HR_HARDWARE_LIMIT: report("safe: own limit "); return;
    case HR_STOPPED: report("safe: emergency stop "); return;
    case HR_FAULTY: report("safe: fault "); return;
    case HR_LEASE_OVER:
        (void)snprintf(text, sizeof text, "safe: no valid command for %.3f s ", (double)of->lease / 1e9);
        break;
    case HR_BEYOND_STROKE:
        (void)snprintf(text, sizeof text, "safe: own limit, axis %d: command %g m, stroke %g m ", axis, change->command,
                       stroke[change->axis]);
        break;
    case HR_STEP_TOO_LONG:
        (void)snprintf(text, sizeof text,
                       "safe: own limit, axis %d: command %g m, %g m from the position applied, largest %g m ", axis,
                       change->command, change->distance, largest_step[change->axis]);
        break;
    }
    report(text);
}

static uint64_t random_number(void *context) {
    uint64_t number = 0;
    (void)context;
    return getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number ? number : 0;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

/* Who sent a datagram, as a number. */
static uint64_t number_of(const struct sockaddr_in *who) {
    return (uint64_t)ntohl(who->sin_addr.s_addr) << 16 | ntohs(who->sin_port);
}

/* A datagram that cannot be sent is lost like any other: counted, never tried again. */
static void answer(const uint8_t *bytes, size_t length, uint64_t to) {
    struct sockaddr_in who = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to)};
    if (length == 0) return;
    who.sin_addr.s_addr = htonl((uint32_t)(to >> 16));
    if (sendto(socket_fd, bytes, length, MSG_DONTWAIT, (struct sockaddr *)&who, sizeof who) == (ssize_t)length) sent++;
    else unsent++;
}

/* Whether there was a datagram that had an answer. */
static bool receive(int64_t now) {
    uint8_t bytes[HR_ROOM] = {0}, said[HR_LONGEST];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    /* MSG_TRUNC: the true length, also of what is longer than any of ours.  Errors are not acted upon: if the network
     * is gone, so are the commands, and the lease does the rest. */
    const ssize_t length =
        recvfrom(socket_fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &size);
    if (length < 0 || size != sizeof from) return false;
    const size_t answered = hr_hear(&rig, bytes, (size_t)length, number_of(&from), now, said);
    answer(said, answered, number_of(&from));
    return answered > 0;
}

/* One datagram at most each time round, so that a flood of them holds up neither the lease nor the step. */
static void run(int signal_fd) {
    struct pollfd sources[2] = {{.fd = socket_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    uint8_t said[HR_LONGEST];
    int64_t now = clock_ns(), sleeps_from = now, looks_at = now;
    for (;;) {
        bool comes = true; /* perhaps */
        if (now >= sleeps_from || now >= looks_at) {
            const int64_t due = hr_due(&rig), left = now >= sleeps_from && due > now ? due - now : 0;
            const struct timespec timeout = {.tv_sec = left / NANO, .tv_nsec = left % NANO};
            const int ready = ppoll(sources, 2, left > 0 && due == INT64_MAX ? NULL : &timeout, NULL);
            if (ready > 0 && sources[1].revents != 0) return;
            comes = ready > 0;
            now = clock_ns();
            looks_at = now + SIGNALS;
        }
        answer(said, hr_tick(&rig, now, said), rig.peer);
        if (comes && receive(now) && settings.in_step && rig.state == HR_ARMED) sleeps_from = now + WATCHED;
        now = clock_ns();
    }
}

/* ---- The command line -------------------------------------------------------------------------------------------- */

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
    fprintf(stderr, "rig: the key file %s %s\n", key_file, why);
    exit(2);
}

/* The secret, if the file is this user's alone.  What is in it is never printed. */
static void read_secret(void) {
    uint8_t text[64] = {0};
    struct stat found;
    const int fd = open(key_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &found) != 0) bad_key_file("cannot be opened, or is a link; make one with: halfreal key");
    if (!S_ISREG(found.st_mode)) bad_key_file("is no plain file");
    if (found.st_uid != geteuid()) bad_key_file("belongs to another user");
    if ((found.st_mode & 077) != 0) bad_key_file("can be read or written by others; its mode must be 600");
    const ssize_t length = read(fd, text, sizeof text - 1);
    (void)close(fd);
    bool good = length == 2 * HR_TAG || (length == 2 * HR_TAG + 1 && text[2 * HR_TAG] == '\n'), zero = true;
    for (int i = 0; good && i < HR_TAG; i++) {
        const int high = digit((char)text[2 * i]), low = digit((char)text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        settings.secret[i] = (uint8_t)(16 * high + low);
        zero = zero && settings.secret[i] == 0;
    }
    if (!good || zero) bad_key_file("must contain 32 hexadecimal digits, not all zero");
}

static void all_axes(double limit[], double value) {
    for (int i = 0; i < HR_AXES; i++) limit[i] = value;
}

static uint16_t read_settings(int argc, char **argv) {
    static const struct option options[] = {
        {"step", required_argument, NULL, 's'},      {"axes", required_argument, NULL, 'a'},
        {"auxiliary", required_argument, NULL, 'x'},
        {"stiffness", required_argument, NULL, 'k'}, {"return", required_argument, NULL, 'r'},
        {"lease", required_argument, NULL, 'l'},     {"in-step", no_argument, NULL, 'i'},
        {"stroke", required_argument, NULL, 'p'},    {"rate", required_argument, NULL, 'v'},
        {"largest-step", required_argument, NULL, 'd'}, {"address", required_argument, NULL, 'b'},
        {"braking", required_argument, NULL, 'f'},
        {"key", required_argument, NULL, 'y'},       {"unauthenticated", required_argument, NULL, 'u'},
        {NULL, 0, NULL, 0}};
    all_axes(stroke, 0.250);
    all_axes(rate, 0.5);
    all_axes(largest_step, 0.005);
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 's': settings.step = number(optarg, 1e-5, 10.0, false, "--step [s]"); break;
        case 'a': settings.axes = (uint16_t)number(optarg, 1, HR_AXES, true, "--axes"); break;
        case 'x': settings.auxiliary = (uint16_t)number(optarg, 0, HR_AUXILIARY, true, "--auxiliary"); break;
        case 'k': stiffness = number(optarg, 0.0, 1e12, false, "--stiffness [N/m]"); break;
        case 'r': settings.return_time = number(optarg, 0.0, 3600.0, false, "--return [s]"); break;
        case 'l': settings.longest_lease = number(optarg, 1e-3, 3600.0, false, "--lease [s]"); break;
        case 'i': settings.in_step = true; break;
        case 'p': all_axes(stroke, positive(optarg, "--stroke [m]")); break;
        case 'v': all_axes(rate, positive(optarg, "--rate [m/s]")); break;
        case 'd': all_axes(largest_step, positive(optarg, "--largest-step [m]")); break;
        case 'f':
            all_axes(braking, positive(optarg, "--braking [m/s^2]"));
            settings.braking = braking;
            break;
        case 'b': own_address = network_address(optarg); break;
        case 'y': key_file = optarg; break;
        case 'u': no_key = optarg; break;
        default: exit(2); /* getopt has said why */
        }
    }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: rig PORT [--step SECONDS] [--axes N] [--auxiliary N] [--stiffness N/m] [--stroke M] "
                        "[--rate M/S] [--largest-step M] [--braking M/S^2] [--return SECONDS] [--lease SECONDS] [--in-step] "
                        "[--address ADDRESS] [--key FILE | --unauthenticated REASON]\n");
        exit(2);
    }
    if (key_file != NULL) read_secret();
    else if (own_address >> 24 != 127 && (no_key == NULL || no_key[0] == '\0')) {
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
    here.sin_addr.s_addr = htonl(own_address);
    socklen_t size = sizeof here;
    if (bind(socket_fd, (struct sockaddr *)&here, sizeof here) != 0) fail("rig: cannot listen on this port");
    if (getsockname(socket_fd, (struct sockaddr *)&here, &size) != 0) fail("rig: socket");
    char address[INET_ADDRSTRLEN];
    if (inet_ntop(AF_INET, &here.sin_addr, address, sizeof address) == NULL) fail("rig: socket");
    if (printf("listening on %s:%u\n", address, (unsigned)ntohs(here.sin_port)) < 0 || fflush(stdout) != 0)
        fail("rig: standard output");

    if (key_file == NULL && no_key != NULL)
        fprintf(stderr, "rig: not authenticated: %s\n", no_key);
    settings.random = random_number;
    settings.changed = print_change;
    hardware_begin(settings.axes, settings.auxiliary, settings.step, stiffness);
    const char *wrong = hr_begin(&rig, &settings, clock_ns());
    if (wrong != NULL) {
        fprintf(stderr, "rig: %s\n", wrong);
        return 2;
    }
    run(signal_fd);

    if (rig.state != HR_IDLE) { /* the operator ends the rig: it brakes, and the controller is to know */
        uint8_t said[HR_LONGEST];
        answer(said, hr_stop(&rig, clock_ns(), said), rig.peer);
        while (rig.way_time < rig.way_end) answer(said, hr_tick(&rig, clock_ns(), said), rig.peer);
    }
    report("");
    return EXIT_SUCCESS;
}

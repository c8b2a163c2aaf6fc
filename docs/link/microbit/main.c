/* A rig's end on a microcontroller, without an operating system: halfreal_rig.c on a BBC micro:bit 1 (nRF51822,
 * Cortex-M0 of 16 MHz, 256 KB of flash, 16 KB of memory), over its serial line.
 *
 * It has run on the emulated board of QEMU and on no real one.  With Debian's gcc-arm-none-eabi, in this folder:
 *
 *     arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -Os -std=c99 -ffreestanding -ffp-contract=off \
 *         -fno-tree-loop-distribute-patterns -ffunction-sections -DHR_AXES=1 -DHR_AUXILIARY=2 -I.. main.c \
 *         ../halfreal_rig.c ../simulated.c -nostdlib -Wl,--gc-sections -T microbit.ld -lgcc -o rig.elf
 *     qemu-system-arm -M microbit -nographic -kernel rig.elf -serial pty -monitor none
 *
 * QEMU prints the name of the pseudo-terminal, which is link.port of the definition.  With a secret, made by
 * "halfreal key rig.key", add  -DSECRET="$(sed 's/../0x&,/g' rig.key)"  and let nobody read the program.
 *
 * For another board replace what is between the lines, for another rig ../simulated.c and the settings.
 */
#include "../halfreal_rig.h"
#include "../hardware.h"

#ifndef SECRET
#define SECRET 0
#endif
#ifndef IN_STEP
#define IN_STEP true
#endif
#ifndef STEP
#define STEP 0.001 /* [s] */
#endif
#ifndef STIFFNESS
#define STIFFNESS 1000.0 /* of the simulated spring [N/m] */
#endif
#ifndef RATE
#define RATE 0.5 /* [m/s] */
#endif

/* ---- The board --------------------------------------------------------------------------------------------------- */

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define CLOCK_START REGISTER(0x40000000)
#define CLOCK_STARTED REGISTER(0x40000100)
#define UART_START_RX REGISTER(0x40002000)
#define UART_START_TX REGISTER(0x40002008)
#define UART_RECEIVED REGISTER(0x40002108)
#define UART_SENT REGISTER(0x4000211C)
#define UART_INTERRUPTS REGISTER(0x40002304)
#define UART_ENABLE REGISTER(0x40002500)
#define UART_TX_PIN REGISTER(0x4000250C)
#define UART_RX_PIN REGISTER(0x40002514)
#define UART_RX REGISTER(0x40002518)
#define UART_TX REGISTER(0x4000251C)
#define UART_BAUD REGISTER(0x40002524)
#define TIMER_START REGISTER(0x40008000)
#define TIMER_CAPTURE REGISTER(0x40008040)
#define TIMER_ALARM REGISTER(0x40008144)
#define TIMER_INTERRUPTS REGISTER(0x40008304)
#define TIMER_BITS REGISTER(0x40008508)
#define TIMER_PRESCALER REGISTER(0x40008510)
#define TIMER_CAPTURED REGISTER(0x40008540)
#define TIMER_ALARM_TIME REGISTER(0x40008544)
#define RANDOM_START REGISTER(0x4000D000)
#define RANDOM_READY REGISTER(0x4000D100)
#define RANDOM_UNBIASED REGISTER(0x4000D504)
#define RANDOM_VALUE REGISTER(0x4000D508)
#define WATCHDOG_START REGISTER(0x40010000)
#define WATCHDOG_TIME REGISTER(0x40010504)
#define WATCHDOG_ENABLE REGISTER(0x40010508)
#define WATCHDOG_RELOAD REGISTER(0x40010600)
#define PINS_HIGH REGISTER(0x50000508)
#define PINS_ARE_OUTPUTS REGISTER(0x50000518)
#define INTERRUPTS_ON REGISTER(0xE000E100)

/* Bytes that have come, put in by the interrupt and taken out by the loop.  One that finds no room is lost, and with it
 * its datagram: the tag no longer fits. */
static volatile uint8_t came[256], into, outof;

/* What is being sent. */
static uint8_t frame[HR_FRAMED(HR_LONGEST)];
static volatile size_t to_send, sent;
static volatile bool is_sending;

static void begin_sending(size_t length) {
    to_send = length;
    sent = 1;
    is_sending = true;
    UART_TX = frame[0];
}

static void go_on_sending(void) {
    if (UART_SENT == 0) return;
    UART_SENT = 0;
    if (sent < to_send) UART_TX = frame[sent++];
    else is_sending = false;
}

static void uart_interrupt(void) {
    go_on_sending();
    while (UART_RECEIVED != 0) {
        UART_RECEIVED = 0;
        const uint8_t byte = (uint8_t)UART_RX;
        if ((uint8_t)(into + 1) != outof) came[into++] = byte;
    }
}

static void timer_interrupt(void) { TIMER_ALARM = 0; }

static bool next_byte(uint8_t *byte) {
    if (outof == into) return false;
    *byte = came[outof];
    outof = (uint8_t)(outof + 1);
    return true;
}

/* Nanoseconds since the start, from a timer of 32 bits and 1 MHz; to be called within its 71 minutes. */
static int64_t clock_ns(void) {
    static uint32_t last;
    static int64_t microseconds;
    TIMER_CAPTURE = 1;
    const uint32_t now = TIMER_CAPTURED;
    microseconds += (uint32_t)(now - last);
    last = now;
    return 1000 * microseconds;
}

/* Until a byte comes or has gone, or a tick is due, but for a millisecond at most.  An interrupt between the question
 * whether there is anything to do and the sleep ends the sleep at once, as they are held back meanwhile.  An alarm that
 * is set for a time that has passed would not come before the timer has gone round: then there is no sleep. */
static void sleep_if_idle(int64_t due) {
    const int64_t left = due - clock_ns();
    if (left <= 0) return;
    __asm__ volatile("cpsid i");
    TIMER_ALARM_TIME = TIMER_CAPTURED + (left < 1000000 ? (uint32_t)left / 1000 + 1 : 1000);
    TIMER_CAPTURE = 1;
    if (outof == into && (int32_t)(TIMER_ALARM_TIME - TIMER_CAPTURED) > 0) __asm__ volatile("wfi");
    __asm__ volatile("cpsie i");
}

/* From the chip's generator, which makes them of thermal noise: 64 bits take some 5 ms, once a session. */
static uint64_t random_number(void *context) {
    uint64_t number = 0;
    (void)context;
    for (int i = 0; i < 8; i++) {
        RANDOM_READY = 0;
        while (RANDOM_READY == 0) {
        }
        number = number << 8 | (RANDOM_VALUE & 0xff);
    }
    return number;
}

static void begin_board(void) {
    CLOCK_START = 1; /* the crystal: without it the serial line is too far from its rate */
    while (CLOCK_STARTED == 0) {
    }
    TIMER_BITS = 3;
    TIMER_PRESCALER = 4;
    TIMER_START = 1;
    RANDOM_UNBIASED = 1;
    RANDOM_START = 1;
    PINS_HIGH = UINT32_C(1) << 24;
    PINS_ARE_OUTPUTS = UINT32_C(1) << 24;
    UART_TX_PIN = 24;
    UART_RX_PIN = 25;
    UART_BAUD = UINT32_C(0x10000000); /* 1,000,000 baud, 8 bits, no parity, one stop bit */
    UART_ENABLE = 4;
    UART_INTERRUPTS = 1 << 2 | 1 << 7;
    TIMER_INTERRUPTS = 1 << 17;
    INTERRUPTS_ON = 1 << 2 | 1 << 8;
    UART_START_RX = 1;
    UART_START_TX = 1;
    /* A loop that stands still for 0.1 s is ended by a reset: let the pins mean "safe" to the hardware after one. */
    WATCHDOG_TIME = 3276;
    WATCHDOG_ENABLE = 1;
    WATCHDOG_START = 1;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static const double stroke[HR_AXES] = {0.250}, rate[HR_AXES] = {RATE}, largest_step[HR_AXES] = {0.005};
static const hr_settings settings = {
    .step = STEP, .longest_lease = 10.0, .stroke = stroke, .rate = rate, .largest_step = largest_step,
    .axes = HR_AXES, .auxiliary = HR_AUXILIARY, .in_step = IN_STEP, .nature = NATURE, .name = NAME,
    .secret = {SECRET}, .actuate = hardware_actuate, .measure = hardware_measure, .random = random_number};
static hr_rig rig;
static hr_unframed line;
static uint8_t answer[HR_LONGEST];

/* An answer that finds the one before it still being sent is lost, like any other datagram. */
static void reply(size_t length) {
    if (length > 0 && !is_sending) begin_sending(hr_frame(answer, length, frame));
}

int main(void);
int main(void) {
    begin_board();
    hardware_begin(HR_AXES, HR_AUXILIARY, STEP, STIFFNESS);
    if (hr_begin(&rig, &settings, clock_ns()) != NULL)
        for (;;) { /* settings that cannot be: nobody is answered */
        }
    for (;;) {
        const int64_t now = clock_ns();
        uint8_t byte;
        WATCHDOG_RELOAD = UINT32_C(0x6E524635);
        if (now >= hr_due(&rig)) reply(hr_tick(&rig, now, answer));
        if (next_byte(&byte) && hr_unframe(&line, byte))
            reply(hr_hear(&rig, line.bytes, line.length, 0, now, answer));
        sleep_if_idle(hr_due(&rig));
    }
}

/* ---- The start, and what compilers take for granted -------------------------------------------------------------- */

extern uint32_t data_in_flash[], data_begin[], data_end[], bss_begin[], bss_end[], stack_end[];

void *memcpy(void *to, const void *from, size_t length);
void *memcpy(void *to, const void *from, size_t length) {
    for (size_t i = 0; i < length; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t length);
void *memset(void *to, int value, size_t length) {
    for (size_t i = 0; i < length; i++) ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

void start(void);
void start(void) {
    const uint32_t *from = data_in_flash;
    for (uint32_t *to = data_begin; to < data_end; to++) *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; to++) *to = 0;
    (void)main();
}

static void stay(void) {
    for (;;) { /* until the watchdog ends it */
    }
}

/* What the processor begins with: its stack, where it starts, and whom it calls. */
typedef union {
    const void *stack;
    void (*function)(void);
} Vector;
const Vector vectors[48] __attribute__((section(".vectors"), used)) = {
    [0] = {.stack = stack_end}, [1] = {.function = start}, [2] = {.function = stay}, [3] = {.function = stay},
    [16 + 2] = {.function = uart_interrupt}, [16 + 8] = {.function = timer_interrupt}};

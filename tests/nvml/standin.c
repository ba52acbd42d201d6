/* Answer the calls of NVML as a scenario says: a stand-in for libnvidia-ml.so.1.
 *
 * It knows no product and no policy: tests/nvml/scenario.py writes a file of lines, one
 * for each answer and each fault, and NVML_STANDIN_SCENARIO names that file. Every call
 * looks whether the file has changed, so that a card can fall off the bus while a process
 * watches it. A line has five fields with tabs between them:
 *
 *     card     00000000:1B:00.0, or 00000000:1B:00.0/3 for a MIG device, `-` for the system;
 *              in faults also `*`, which is all of these
 *     call     the exported name; in faults also `*`, which is every call
 *     outcome  0 for an answer; for a fault the NVML error, or `hang`, or `crash`
 *     after    how many calls a fault lets pass first
 *     words    what is answered: words with a space between them, %XX for any byte
 *
 * functions.h is the table of functions; here is what the shapes in it mean.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SYSTEM handles[0]

enum { HANDLES = 1024, NAME = 32, WORDS = 64, BYTES = 4096 };

enum {
    CRASH = -2,
    HANG = -1,
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    GPU_IS_LOST = 15,
    OPERATING_SYSTEM = 17,
    ARGUMENT_VERSION_MISMATCH = 25,
};

struct line {
    const char *card, *call, *words;
    int outcome;
    unsigned long after, passed;
};

/* All of this is touched under the lock alone. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stat seen;
static char *content;
static struct line *lines;
static size_t line_count;
static unsigned long initialised;
/* A handle is the address of its card's name; the first one is the system itself. */
static char handles[HANDLES][NAME] = {"-"};
static size_t handle_count = 1;
/* The words of the last answer. */
static char bytes[BYTES];
static const char *word[WORDS];
static size_t length[WORDS];
static unsigned word_count;

/* ---- the file ---- */

static int outcome_of(const char *field)
{
    return !strcmp(field, "hang") ? HANG : !strcmp(field, "crash") ? CRASH : atoi(field);
}

static void parse(char *rest)
{
    line_count = 0;
    for (char *row; (row = strsep(&rest, "\n")) && *row; line_count++) {
        const char *field[5] = {"", "", "", "", ""};
        for (int i = 0; i < 5 && row; i++)
            field[i] = strsep(&row, "\t");
        lines = realloc(lines, (line_count + 1) * sizeof *lines);
        if (!lines)
            abort();
        lines[line_count] = (struct line){field[0], field[1], field[4], outcome_of(field[2]),
                                          strtoul(field[3], NULL, 10), 0};
    }
}

static int same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           !memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim);
}

static int refresh(void)
{
    const char *path = getenv("NVML_STANDIN_SCENARIO");
    struct stat now;
    if (path && content && !stat(path, &now) && same(&now, &seen))
        return SUCCESS;
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file || fstat(fileno(file), &seen)) {
        fprintf(stderr, "nvml stand-in: NVML_STANDIN_SCENARIO=%s can't be read; "
                "let tests/nvml/scenario.py write the file\n", path ? path : "");
        return OPERATING_SYSTEM;
    }
    content = realloc(content, (size_t)seen.st_size + 1);
    if (!content)
        abort();
    content[fread(content, 1, (size_t)seen.st_size, file)] = 0;
    fclose(file);
    parse(content);
    return SUCCESS;
}

/* ---- lines ---- */

static int concerns(const struct line *line, const char *card, const char *call)
{
    /* What befalls a card befalls its MIG devices, whose names begin with the card's. */
    int ours = !strncmp(card, line->card, strlen(line->card)) || !strcmp(line->card, "*");
    return ours && (!strcmp(line->call, call) || !strcmp(line->call, "*"));
}

static int fault(const char *card, const char *call)
{
    for (struct line *line = lines; line < lines + line_count; line++)
        if (line->outcome && concerns(line, card, call) && line->passed++ >= line->after)
            return line->outcome;
    return SUCCESS;
}

static char decoded(const char **from)
{
    const char *at = *from;
    char digits[3] = {at[0] == '%' ? at[1] : 0, at[0] == '%' && at[1] ? at[2] : 0, 0};
    *from += digits[1] ? 3 : 1;
    return digits[1] ? (char)strtoul(digits, NULL, 16) : *at;
}

static void split(const char *from)
{
    char *to = bytes, *end = bytes + BYTES - 1;
    for (word_count = 0; *from && word_count < WORDS && to < end; word_count++) {
        word[word_count] = to;
        while (*from && *from != ' ' && to < end)
            *to++ = decoded(&from);
        length[word_count] = (size_t)(to - word[word_count]);
        *to++ = 0;
        from += *from == ' ';
    }
}

static int answer(const char *card, const char *call)
{
    int known = 0;
    for (struct line *line = lines; line < lines + line_count; line++)
        if (!line->outcome && !strcmp(line->card, card)) {
            known = 1;
            if (!strcmp(line->call, call))
                return split(line->words), SUCCESS;
        }
    return known ? NOT_SUPPORTED : GPU_IS_LOST;
}

static unsigned long long number(unsigned i)
{
    return i < word_count ? strtoull(word[i], NULL, 10) : 0;
}

/* ---- handles ---- */

static const char *card_of(const void *handle)
{
    uintptr_t place = (uintptr_t)handle - (uintptr_t)handles;
    return place % NAME || place / NAME >= handle_count ? NULL : handles[place / NAME];
}

static const void *handle_of(const char *card)
{
    for (size_t i = 0; i < handle_count; i++)
        if (!strcmp(handles[i], card))
            return handles[i];
    if (handle_count == HANDLES)
        abort();
    snprintf(handles[handle_count], NAME, "%s", card);
    return handles[handle_count++];
}

/* Every question about a card comes by here: is there one, a fault, an answer, a place. */
static int look(const void *handle, const char *call, const void *out)
{
    const char *card = card_of(handle);
    int failed = card ? fault(card, call) : INVALID_ARGUMENT;
    failed = failed ? failed : answer(card, call);
    return failed || out ? failed : INVALID_ARGUMENT;
}

/* ---- shapes ---- */

static int text(const void *handle, const char *call, char *out, unsigned size)
{
    int failed = look(handle, call, out);
    size_t needed = failed || !word_count ? 1 : length[0] + 1;
    if (failed || needed > size)
        return failed ? failed : INSUFFICIENT_SIZE;
    memcpy(out, word_count ? word[0] : "", needed);
    return SUCCESS;
}

static int pick(const void *handle, const char *call, unsigned index, unsigned *out)
{
    int failed = look(handle, call, out);
    if (failed || index >= word_count)
        return failed ? failed : INVALID_ARGUMENT;
    *out = (unsigned)number(index);
    return SUCCESS;
}

static int pair(const void *handle, const char *call, unsigned *first, unsigned *second)
{
    int failed = pick(handle, call, 0, second ? first : NULL);
    if (!failed)
        *second = (unsigned)number(1);
    return failed;
}

/* Write the words into a structure of so many bytes. A letter of the layout is a field:
 * B, I, Q a number of 1, 4, 8 bytes, aligned and little-endian; s, S are 16, 32 bytes. */
static int fill(unsigned char *out, size_t offset, size_t size, const char *layout)
{
    for (unsigned i = 0; layout[i]; i++) {
        size_t width = (size_t[]){1, 4, 8, 16, 32}[strchr("BIQsS", layout[i]) - "BIQsS"];
        int numeric = width <= 8;
        unsigned long long value = number(i);
        offset = numeric ? (offset + width - 1) / width * width : offset;
        if (offset + width > size)
            return SUCCESS;
        if (i >= word_count)
            return ARGUMENT_VERSION_MISMATCH;
        memset(out + offset, 0, width);
        memcpy(out + offset, numeric ? (const char *)&value : word[i],
               numeric || length[i] > width ? width : length[i]);
        offset += width;
    }
    return SUCCESS;
}

/* With versions, the caller says one in the first word, and in it the structure's size. */
static int record(const void *handle, const char *call, const char *layout,
                  const unsigned *versions, void *out)
{
    int failed = look(handle, call, out);
    if (failed || !versions)
        return failed ? failed : fill(out, 0, SIZE_MAX, layout);
    for (unsigned version = *(unsigned *)out; *versions; versions++)
        if (*versions == version)
            return fill(out, sizeof version, version & 0xffffff, layout);
    return ARGUMENT_VERSION_MISMATCH;
}

static int reach(const char *card, const char *call, const void **out)
{
    int failed = out ? fault(card, call) : INVALID_ARGUMENT;
    if (!failed)
        *out = handle_of(card);
    return failed;
}

/* A list of cards: the system's by index, a card's MIG devices, a MIG device's card. */
static int listed(const void *handle, const char *call, unsigned index, int beyond,
                  const void **out)
{
    const char *card = card_of(handle);
    int failed = card ? answer(card, call) : INVALID_ARGUMENT;
    if (!failed && index < word_count)
        return reach(word[index], call, out);
    int worse = card ? fault(card, call) : SUCCESS;
    return worse ? worse : failed ? failed : beyond;
}

static int by_address(const char *call, const char *said, const void **out)
{
    unsigned at[4] = {0};
    int end = 0;
    char card[64];
    if (!said ||
        !(sscanf(said, "%x:%x:%x.%x%n", at, at + 1, at + 2, at + 3, &end) == 4 ||
          sscanf(said, "%x:%x:%x%n", at, at + 1, at + 2, &end) == 3 ||
          (at[0] = 0, sscanf(said, "%x:%x.%x%n", at + 1, at + 2, at + 3, &end) == 3)) ||
        said[end])
        return INVALID_ARGUMENT;
    snprintf(card, sizeof card, "%08X:%02X:%02X.%X", at[0], at[1], at[2], at[3]);
    return answer(card, "nvmlDeviceGetUUID") == GPU_IS_LOST ? NOT_FOUND : reach(card, call, out);
}

static int by_uuid(const char *call, const char *said, const void **out)
{
    for (struct line *line = lines; said && line < lines + line_count; line++)
        if (!line->outcome && !strcmp(line->call, "nvmlDeviceGetUUID") &&
            (split(line->words), word_count) && !strcmp(word[0], said))
            return reach(line->card, call, out);
    return said ? NOT_FOUND : INVALID_ARGUMENT;
}

static int init(const char *call)
{
    int failed = fault(SYSTEM, call);
    initialised += !failed;
    return failed;
}

/* ---- rows ---- */

static int enter(int needed)
{
    pthread_mutex_lock(&lock);
    int failed = refresh();
    return failed ? failed : initialised >= (unsigned long)needed ? SUCCESS : UNINITIALIZED;
}

static int leave(int outcome)
{
    pthread_mutex_unlock(&lock);
    while (outcome == HANG)
        pause();
    if (outcome == CRASH) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    return outcome;
}

#define FUNCTION(name, needed, parameters, ...) \
    EXPORT int name parameters \
    { \
        int failed = enter(needed); \
        return leave(failed ? failed : __VA_ARGS__); \
    }
#define ROW(name, parameters, ...) FUNCTION(name, 1, parameters, __VA_ARGS__)
#define TEXT(name) \
    ROW(name, (const void *card, char *out, unsigned size), text(card, #name, out, size))
#define NUMBER(name) ROW(name, (const void *card, unsigned *out), pick(card, #name, 0, out))
#define PAIR(name) \
    ROW(name, (const void *card, unsigned *one, unsigned *two), pair(card, #name, one, two))
#define PICK(name) \
    ROW(name, (const void *card, unsigned index, unsigned *out), pick(card, #name, index, out))
#define RECORD(name, layout) \
    ROW(name, (const void *card, void *out), record(card, #name, layout, NULL, out))
#define VERSIONED(name, layout, ...) \
    ROW(name, (const void *card, void *out), \
        record(card, #name, layout, (const unsigned[]){__VA_ARGS__, 0}, out))
#define SYSTEM_TEXT(name) ROW(name, (char *out, unsigned size), text(SYSTEM, #name, out, size))
#define SYSTEM_NUMBER(name) ROW(name, (unsigned *out), pick(SYSTEM, #name, 0, out))

#include "functions.h"

EXPORT const char *nvmlErrorString(int error)
{
    static const char *const WORDING[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported",
        "Insufficient Permissions", "Already Initialized", "Not Found", "Insufficient Size",
        "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
        "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost",
        "GPU requires reset", "GPU access blocked by the operating system",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory",
        "No data", "VGPU ECC not supported", "Insufficient resources", "Frequency not supported",
        "Argument version mismatch", "Deprecated", "System not ready", "GPU not found",
        "Invalid state", "Reset type not supported",
    };
    return error < 0 || error > 30 ? "Unknown Error" : WORDING[error];
}

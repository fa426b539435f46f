/* Faults between a process and its files and clock, for tests: built by `faults.rs` beside it and preloaded.
 *
 * Operations on files under FAULTS_ROOT (shared memory of SQLite left out) are counted from 1 and written to FAULTS_LOG,
 * so that a test can rebuild what a disk would hold after a loss of power. What else is set decides what fails:
 *   FAULTS_OPS   which operations count: w writes, t truncations, s syncs
 *   FAULTS_FILE  only those of files whose names end so
 *   FAULTS_AT    the number of the operation to meet
 *   FAULTS_DO    fail (EIO), before or after (the process dies there), tear=N (it dies having written N sectors), pass
 *                (nothing fails, and where it would have is told)
 *   FAULTS_LIE   syncs are told as done and are not
 *   FAULTS_FULL  while this file exists, no file grows (ENOSPC)
 *   FAULTS_SAID  the process dies when it logs this text the FAULTS_SAID_AT-th time
 *   FAULTS_CLOCK a file of 8 bytes: nanoseconds that the wall clock is off
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES 65536
#define SECTOR 512

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char *names[FILES];
static const char *root, *ops, *only, *what, *full, *said;
static long at, said_at, met, heard;
static int record = -1, lies;
static const volatile int64_t *shift;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_truncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_clock)(clockid_t, struct timespec *);

/* Others may write, open and look at the clock before `begin` runs. */
static void find(void) {
    real_openat = dlsym(RTLD_NEXT, "openat64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_truncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_open = dlsym(RTLD_NEXT, "open64");
}

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    find();
    const char *clock_file = getenv("FAULTS_CLOCK");
    if (clock_file) {
        int file = real_open(clock_file, O_RDONLY | O_CLOEXEC);
        void *mapped = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
        if (file < 0 || mapped == MAP_FAILED) abort();
        shift = mapped;
    }
    const char *log = getenv("FAULTS_LOG");
    if (log && (record = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0) abort();
    ops = getenv("FAULTS_OPS");
    only = getenv("FAULTS_FILE");
    what = getenv("FAULTS_DO");
    full = getenv("FAULTS_FULL");
    said = getenv("FAULTS_SAID");
    lies = getenv("FAULTS_LIE") != NULL;
    at = number("FAULTS_AT");
    said_at = number("FAULTS_SAID_AT");
    /* Last: nothing is watched before all of it is known. */
    root = getenv("FAULTS_ROOT");
}

static int ends(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int watched(const char *path) {
    return root && strncmp(path, root, strlen(root)) == 0 && path[strlen(root)] == '/' && !ends(path, "-shm");
}

static void name_file(int file, const char *path) {
    if (file < 0 || file >= FILES || !watched(path)) return;
    pthread_mutex_lock(&turn);
    free(names[file]);
    names[file] = strdup(path + strlen(root) + 1);
    pthread_mutex_unlock(&turn);
}

static const char *name_of(int file) {
    return root && file >= 0 && file < FILES ? names[file] : NULL;
}

/* One record: what, length of the name, place or size, length of the bytes; the name; the bytes. */
static void note(char kind, const char *name, int64_t place, const void *bytes, size_t length) {
    if (record < 0) return;
    char head[24] = {kind};
    uint32_t name_length = (uint32_t)strlen(name);
    uint64_t byte_length = length;
    memcpy(head + 4, &name_length, 4);
    memcpy(head + 8, &place, 8);
    memcpy(head + 16, &byte_length, 8);
    struct iovec parts[3] = {{head, sizeof head}, {(void *)name, name_length}, {(void *)bytes, length}};
    if (writev(record, parts, bytes ? 3 : 2) < 0) abort();
}

static void die(void) {
    for (;;) kill(getpid(), SIGKILL);
}

/* Whether the fault falls on this operation; the turn is held. */
static int meets(char op, const char *name) {
    if ((ops && !strchr(ops, op)) || (only && !ends(name, only))) return 0;
    return ++met == at;
}

static int is(const char *fault) {
    return what && strcmp(what, fault) == 0;
}

/* Where a fault falls: when, by a clock that nothing shifts. */
static void strike(const char *name) {
    struct timespec now;
    real_clock(CLOCK_REALTIME, &now);
    note('!', name, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, NULL, 0);
}

/* Whether this operation is to fail, which is told; the turn is held. */
static int falls(char op, const char *name) {
    if (!meets(op, name)) return 0;
    strike(name);
    return !is("pass");
}

static int grows(int file, off_t end) {
    struct stat found;
    return full && access(full, F_OK) == 0 && fstat(file, &found) == 0 && end > found.st_size;
}

static ssize_t put(int file, const char *name, const void *bytes, size_t length, off_t place, int positioned) {
    if (grows(file, place + (off_t)length)) {
        errno = ENOSPC;
        return -1;
    }
    int struck = falls('w', name);
    if (struck) {
        if (is("fail")) {
            errno = EIO;
            return -1;
        }
        if (is("before")) die();
        if (what && strncmp(what, "tear=", 5) == 0) {
            size_t part = (size_t)atol(what + 5) % (length / SECTOR + 1) * SECTOR;
            ssize_t done = part ? real_pwrite(file, bytes, part, place) : 0;
            if (done > 0) note('w', name, place, bytes, (size_t)done);
            die();
        }
    }
    ssize_t done = positioned ? real_pwrite(file, bytes, length, place) : real_write(file, bytes, length);
    if (done > 0) note('w', name, place, bytes, (size_t)done);
    if (struck) die();
    return done;
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (said && file == STDERR_FILENO && memmem(bytes, length, said, strlen(said)) &&
        __sync_add_and_fetch(&heard, 1) == said_at)
        die();
    const char *name = name_of(file);
    if (!real_open) find();
    if (!name) return real_write(file, bytes, length);
    pthread_mutex_lock(&turn);
    ssize_t done = put(file, name, bytes, length, lseek(file, 0, SEEK_CUR), 0);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off_t place) {
    const char *name = name_of(file);
    if (!name) return real_pwrite(file, bytes, length, place);
    pthread_mutex_lock(&turn);
    ssize_t done = put(file, name, bytes, length, place, 1);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t place) {
    return pwrite64(file, bytes, length, place);
}

int ftruncate64(int file, off_t size) {
    const char *name = name_of(file);
    if (!name) return real_truncate(file, size);
    pthread_mutex_lock(&turn);
    int done = -1, struck = falls('t', name);
    if (struck && is("fail")) {
        errno = EIO;
    } else {
        if (struck && !is("after")) die();
        done = real_truncate(file, size);
        if (done == 0) note('t', name, size, NULL, 0);
        if (struck) die();
    }
    pthread_mutex_unlock(&turn);
    return done;
}

int ftruncate(int file, off_t size) {
    return ftruncate64(file, size);
}

static int sync_file(int file, int (*real)(int)) {
    const char *name = name_of(file);
    if (!name) return real(file);
    pthread_mutex_lock(&turn);
    int done = -1, struck = falls('s', name);
    if (struck && is("fail")) {
        note('f', name, 0, NULL, 0);
        errno = EIO;
    } else {
        if (struck && !is("after")) die();
        done = lies ? 0 : real(file);
        if (done == 0 && !lies) note('s', name, 0, NULL, 0);
        if (struck) die();
    }
    pthread_mutex_unlock(&turn);
    return done;
}

int fsync(int file) {
    return sync_file(file, real_fsync);
}

int fdatasync(int file) {
    return sync_file(file, real_fdatasync);
}

int unlink(const char *path) {
    if (!real_open) find();
    int done = real_unlink(path);
    if (done == 0 && watched(path)) {
        pthread_mutex_lock(&turn);
        note('u', path + strlen(root) + 1, 0, NULL, 0);
        pthread_mutex_unlock(&turn);
    }
    return done;
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    if (!real_open) find();
    int file = real_open(path, flags, va_arg(more, int));
    va_end(more);
    name_file(file, path);
    if (file >= 0 && (flags & O_TRUNC) && name_of(file)) note('t', names[file], 0, NULL, 0);
    return file;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open64(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    if (!real_open) find();
    int file = real_openat(folder, path, flags, va_arg(more, int));
    va_end(more);
    name_file(file, path);
    return file;
}

int close(int file) {
    if (!real_open) find();
    if (name_of(file)) {
        pthread_mutex_lock(&turn);
        free(names[file]);
        names[file] = NULL;
        pthread_mutex_unlock(&turn);
    }
    return real_close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_open) find();
    int done = real_clock(clock, now);
    if (done == 0 && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t time = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *shift;
        now->tv_sec = time / 1000000000;
        now->tv_nsec = time % 1000000000;
    }
    return done;
}

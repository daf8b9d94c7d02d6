/* Faults from outside, preloaded: files whose path holds FAULT_PATH fail once FAULT_AFTER bytes
 * have been read from them, or written to them.
 *
 * FAULT_KIND   eio     reads fail with EIO
 *              enospc  writes fail with ENOSPC
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_llong seen;

/* Whoever opened it, and however: some do without the C library. */
static int is_watched(int fd, const char *kind) {
    const char *given = getenv("FAULT_KIND"), *part = getenv("FAULT_PATH");
    if (!given || !part || strcmp(given, kind) != 0)
        return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

/* How many of these bytes may pass before the fault; 0 is the fault. */
static size_t room(size_t bytes) {
    const char *after = getenv("FAULT_AFTER");
    long long left = (after ? atoll(after) : 0) - atomic_load(&seen);
    if (left <= 0)
        return 0;
    return (unsigned long long)left < bytes ? (size_t)left : bytes;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAILS(kind, error) \
    if (bytes > 0 && is_watched(fd, kind)) { \
        bytes = room(bytes); \
        if (bytes == 0) { \
            errno = error; \
            return -1; \
        } \
        atomic_fetch_add(&seen, (long long)bytes); \
    }

ssize_t read(int fd, void *into, size_t bytes) {
    REAL(read);
    FAILS("eio", EIO)
    return real(fd, into, bytes);
}

ssize_t pread(int fd, void *into, size_t bytes, off_t at) {
    REAL(pread);
    FAILS("eio", EIO)
    return real(fd, into, bytes, at);
}

ssize_t pread64(int fd, void *into, size_t bytes, off64_t at) {
    REAL(pread64);
    FAILS("eio", EIO)
    return real(fd, into, bytes, at);
}

ssize_t write(int fd, const void *from, size_t bytes) {
    REAL(write);
    FAILS("enospc", ENOSPC)
    return real(fd, from, bytes);
}

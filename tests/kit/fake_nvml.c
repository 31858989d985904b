/* A stand-in for libnvidia-ml.so with eight healthy GPUs at work, written for the tests of the NVML reader.
 *
 * FAKE_NVML tells it what goes wrong, words with commas between: `lose=2` (GPU 2 is lost), `handle=3` (no handle for GPU 3),
 * `refuse=nvmlDeviceGetEccMode:4` (that function answers code 4 for GPU 5), `count=7`, `init=9`, `old` (newer structures are a version
 * mismatch), `action=2` (recovery action of GPU 5). Built with -DANCIENT it lacks what drivers before 535 lack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Code;
typedef unsigned int u32;
typedef unsigned long long u64;

static const char *told(const char *key) {
    static char found[128];
    const char *at = getenv("FAKE_NVML");
    size_t length = strlen(key);
    while (at && *at) {
        const char *end = strchr(at, ',');
        size_t size = end ? (size_t)(end - at) : strlen(at);
        if (size >= length && strncmp(at, key, length) == 0 && (size == length || at[length] == '=')) {
            size_t rest = size > length ? size - length - 1 : 0;
            if (rest >= sizeof found) rest = sizeof found - 1;
            memcpy(found, at + size - rest, rest);
            found[rest] = 0;
            return found;
        }
        at = end ? end + 1 : NULL;
    }
    return NULL;
}

static int number(const char *key, int otherwise) {
    const char *text = told(key);
    return text ? atoi(text) : otherwise;
}

static int index_of(void *device) { return (int)(size_t)device - 1; }

static Code state(void *device, const char *name) {
    const char *refused = told("refuse");
    if (index_of(device) == number("lose", -1)) return 15;
    if (refused && index_of(device) == 5) {
        size_t length = strlen(name);
        if (strncmp(refused, name, length) == 0 && refused[length] == ':') return atoi(refused + length + 1);
    }
    return 0;
}

#define ANSWER(device, statement) { Code code = state(device, __func__); if (code) return code; statement; return 0; }

Code nvmlInit_v2(void) { return number("init", 0); }
Code nvmlShutdown(void) { return 0; }
Code nvmlSystemGetDriverVersion(char *text, u32 size) { snprintf(text, size, "580.105.08"); return 0; }
Code nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return 0; }
Code nvmlDeviceGetCount_v2(u32 *count) { *count = (u32)number("count", 8); return 0; }
Code nvmlDeviceGetHandleByIndex_v2(u32 index, void **device) {
    *device = (void *)(size_t)(index + 1);
    return (int)index == number("handle", -1) ? 15 : 0;
}
Code nvmlDeviceGetName(void *d, char *text, u32 size) ANSWER(d, snprintf(text, size, "NVIDIA H100 80GB HBM3"))
Code nvmlDeviceGetUUID(void *d, char *text, u32 size) ANSWER(d, snprintf(text, size, "GPU-1f0e0c3d-aaaa-bbbb-cccc-00000000000%d", index_of(d) + 1))
Code nvmlDeviceGetSerial(void *d, char *text, u32 size) ANSWER(d, snprintf(text, size, "165000000100%d", index_of(d)))
Code nvmlDeviceGetVbiosVersion(void *d, char *text, u32 size) ANSWER(d, snprintf(text, size, "96.00.A5.00.01"))

struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char text[32]; };
Code nvmlDeviceGetPciInfo_v3(void *d, struct pci *p) ANSWER(d, snprintf(p->text, sizeof p->text, "00000000:%dB:00.0", index_of(d)))

struct memory { u64 total, free, used; };
Code nvmlDeviceGetMemoryInfo(void *d, struct memory *m) ANSWER(d, m->total = 81559ULL << 20)
Code nvmlDeviceGetPersistenceMode(void *d, u32 *on) ANSWER(d, *on = 1)
Code nvmlDeviceGetMigMode(void *d, u32 *now, u32 *next) ANSWER(d, *now = *next = 0)
Code nvmlDeviceGetEccMode(void *d, u32 *now, u32 *next) ANSWER(d, *now = *next = 1)
Code nvmlDeviceGetCurrPcieLinkGeneration(void *d, u32 *n) ANSWER(d, *n = 5)
Code nvmlDeviceGetCurrPcieLinkWidth(void *d, u32 *n) ANSWER(d, *n = 16)
Code nvmlDeviceGetMaxPcieLinkGeneration(void *d, u32 *n) ANSWER(d, *n = 5)
Code nvmlDeviceGetMaxPcieLinkWidth(void *d, u32 *n) ANSWER(d, *n = 16)
Code nvmlDeviceGetPcieReplayCounter(void *d, u32 *n) ANSWER(d, *n = 3)
Code nvmlDeviceGetUtilizationRates(void *d, u32 *rates) ANSWER(d, rates[0] = 100; rates[1] = 40)
Code nvmlDeviceGetEnforcedPowerLimit(void *d, u32 *mw) ANSWER(d, *mw = 700000)
Code nvmlDeviceGetPowerManagementDefaultLimit(void *d, u32 *mw) ANSWER(d, *mw = 700000)
Code nvmlDeviceGetPowerUsage(void *d, u32 *mw) ANSWER(d, *mw = 688123)
Code nvmlDeviceGetTemperature(void *d, int sensor, u32 *c) ANSWER(d, *c = sensor == 0 ? 61 : 999)
Code nvmlDeviceGetTemperatureThreshold(void *d, int kind, u32 *c) ANSWER(d, *c = kind == 1 ? 89 : 999)
Code nvmlDeviceGetClockInfo(void *d, int kind, u32 *mhz) ANSWER(d, *mhz = kind == 1 ? 1755 : 1)
Code nvmlDeviceGetMaxClockInfo(void *d, int kind, u32 *mhz) ANSWER(d, *mhz = kind == 1 ? 1980 : 1)
Code nvmlDeviceGetMemoryErrorCounter(void *d, int error, int counter, int place, u64 *n)
    ANSWER(d, *n = error == 1 && (counter == 0 || counter == 1) && (place == 2 || place == 7) ? 0 : 77)
Code nvmlDeviceGetRemappedRows(void *d, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed)
    ANSWER(d, *corrected = 2; *uncorrected = 1; *pending = *failed = 0)
Code nvmlDeviceGetRetiredPagesPendingStatus(void *d, u32 *n) { (void)d; (void)n; return 3; }
Code nvmlDeviceGetCurrentClocksThrottleReasons(void *d, u64 *bits) ANSWER(d, *bits = 0x4)

struct fabric_v1 { unsigned char cluster[16]; int status; u32 clique; unsigned char state; };
Code nvmlDeviceGetGpuFabricInfo(void *d, struct fabric_v1 *f) ANSWER(d, f->status = 0; f->clique = 0; f->state = 3)

#ifndef ANCIENT
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
Code nvmlDeviceGetMemoryInfo_v2(void *d, struct memory_v2 *m) {
    if (told("old") || m->version != (sizeof *m | 2u << 24)) return 25;
    ANSWER(d, m->total = 81559ULL << 20)
}
Code nvmlDeviceGetCurrentClocksEventReasons(void *d, u64 *bits) ANSWER(d, *bits = 0x4)
struct margin { u32 version; int degrees; };
Code nvmlDeviceGetMarginTemperature(void *d, struct margin *m) {
    if (m->version != (sizeof *m | 1u << 24)) return 25;
    ANSWER(d, m->degrees = 24)
}
struct fabric_v2 { u32 version; unsigned char cluster[16]; int status; u32 clique; unsigned char state; u32 health; };
Code nvmlDeviceGetGpuFabricInfoV(void *d, struct fabric_v2 *f) {
    if (told("old") || f->version != (sizeof *f | 2u << 24)) return 25;
    ANSWER(d, f->status = 0; f->clique = 0; f->state = 3)
}
struct field { u32 id, scope; long long at, latency; int kind; Code code; union { double d; u32 u; u64 l; } value; };
Code nvmlDeviceGetFieldValues(void *d, int count, struct field *fields) {
    for (int n = 0; n < count; n++) {
        fields[n].code = fields[n].id == 230 && fields[n].scope == 0 ? state(d, __func__) : 3;
        fields[n].value.l = index_of(d) == 5 ? (u64)number("action", 0) : 0;
    }
    return index_of(d) == number("lose", -1) ? 15 : 0;
}
#endif

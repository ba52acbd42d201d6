/* The functions of the stand-in, one a row, by the shapes that standin.c defines.
 *
 * TEXT       a string, into a buffer of a size that the caller says
 * NUMBER     an unsigned int; PAIR is two of them; PICK is one of many, by an index
 * RECORD     a structure; a letter is a field: B I Q are 1, 4, 8 bytes, s S are 16, 32
 * VERSIONED  a structure whose first word says its version: one of these, or a mismatch
 * SYSTEM_    the same of the whole system: no card is asked
 * ROW        anything else, in C
 *
 * tests/nvml/build.py reads the names here; a scenario can speak of no others.
 */
FUNCTION(nvmlInitWithFlags, 0, (unsigned flags), ((void)flags, init("nvmlInitWithFlags")))
FUNCTION(nvmlInit_v2, 0, (void), init("nvmlInit_v2"))
FUNCTION(nvmlShutdown, 1, (void), (initialised--, SUCCESS))

SYSTEM_TEXT(nvmlSystemGetDriverVersion)
SYSTEM_TEXT(nvmlSystemGetNVMLVersion)
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion)
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion_v2)
SYSTEM_NUMBER(nvmlDeviceGetCount_v2)

ROW(nvmlDeviceGetHandleByIndex_v2, (unsigned index, const void **out),
    listed(SYSTEM, "nvmlDeviceGetHandleByIndex_v2", index, INVALID_ARGUMENT, out))
ROW(nvmlDeviceGetHandleByPciBusId_v2, (const char *address, const void **out),
    by_address("nvmlDeviceGetHandleByPciBusId_v2", address, out))
ROW(nvmlDeviceGetHandleByUUID, (const char *uuid, const void **out),
    by_uuid("nvmlDeviceGetHandleByUUID", uuid, out))
ROW(nvmlDeviceGetMigDeviceHandleByIndex, (const void *card, unsigned index, const void **out),
    listed(card, "nvmlDeviceGetMigDeviceHandleByIndex", index, NOT_FOUND, out))
ROW(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (const void *card, const void **out),
    listed(card, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", 0, NOT_FOUND, out))

TEXT(nvmlDeviceGetName)
TEXT(nvmlDeviceGetUUID)
TEXT(nvmlDeviceGetSerial)

NUMBER(nvmlDeviceGetBrand)
NUMBER(nvmlDeviceGetArchitecture)
NUMBER(nvmlDeviceGetIndex)
NUMBER(nvmlDeviceGetMinorNumber)
NUMBER(nvmlDeviceGetPersistenceMode)
NUMBER(nvmlDeviceGetPowerUsage)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration)
NUMBER(nvmlDeviceGetMaxMigDeviceCount)
NUMBER(nvmlDeviceIsMigDeviceHandle)
NUMBER(nvmlDeviceGetGpuInstanceId)
NUMBER(nvmlDeviceGetComputeInstanceId)

PAIR(nvmlDeviceGetCudaComputeCapability)
PAIR(nvmlDeviceGetEccMode)
PAIR(nvmlDeviceGetMigMode)

PICK(nvmlDeviceGetTemperature)
PICK(nvmlDeviceGetNvLinkState)

RECORD(nvmlDeviceGetPciInfo_v3, "sIIIIIS")
RECORD(nvmlDeviceGetMemoryInfo, "QQQ")
RECORD(nvmlDeviceGetAttributes_v2, "IIIIIIIIQ")
VERSIONED(nvmlDeviceGetMemoryInfo_v2, "QQQQ", 0x2000028)
VERSIONED(nvmlDeviceGetGpuFabricInfoV, "sIIIIB", 0x2000024, 0x3000028)

/* Nobody computes on these cards: a caller asks for the count, is told 0, and stops. */
ROW(nvmlDeviceGetComputeRunningProcesses_v3, (const void *card, unsigned *count, void *out),
    ((void)out, pick(card, "nvmlDeviceGetComputeRunningProcesses_v3", 0, count)))

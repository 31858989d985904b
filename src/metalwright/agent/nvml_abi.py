"""The part of NVML's C interface that is read here: structures, codes and numbers of nvml.h, as stable since driver 470.

Bound by ctypes, because the agent has only the standard library. Versioned structures carry their size and number in the first word.
"""

import ctypes
from ctypes import Structure, c_char, c_int, c_longlong, c_ubyte, c_uint, c_ulonglong

SUCCESS, NOT_SUPPORTED, FUNCTION_NOT_FOUND, GPU_IS_LOST, VERSION_MISMATCH = 0, 3, 13, 15, 25
UNCORRECTED, VOLATILE, AGGREGATE, DRAM, SRAM = 1, 0, 1, 2, 7
TEMPERATURE_GPU, THRESHOLD_SLOWDOWN, CLOCK_SM = 0, 1, 1
RECOVERY_ACTION = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION."""
DEVICE_SCOPE = 0
FABRIC_STATES = ("Not Supported", "Not Started", "In Progress", "Completed")
RECOVERY_ACTIONS = (
    "None",
    "GPU Reset",
    "Node Reboot",
    "Drain P2P",
    "Drain and Reset",
    "Recover IMEX Domain",
    "Bus Reset",
    "System Reboot",
)
REASONS = {"is_idle": 0x1, "hw_slowdown": 0x8, "sw_thermal": 0x20, "hw_thermal": 0x40, "hw_power_brake": 0x80}


class Memory(Structure):
    """nvmlMemory_t: bytes."""

    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class MemoryV2(Structure):
    """nvmlMemory_v2_t: tells what the driver reserves, and a total with it."""

    _fields_ = (("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class PciInfo(Structure):
    """nvmlPciInfo_t."""

    _fields_ = (
        ("bus_id_legacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("device_id", c_uint),
        ("subsystem_id", c_uint),
        ("bus_id", c_char * 32),
    )


class Utilization(Structure):
    """nvmlUtilization_t: percent."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class Margin(Structure):
    """nvmlMarginTemperature_v1_t."""

    _fields_ = (("version", c_uint), ("degrees", c_int))


class FabricV2(Structure):
    """nvmlGpuFabricInfo_v2_t."""

    _fields_ = (
        ("version", c_uint),
        ("cluster", c_ubyte * 16),
        ("status", c_int),
        ("clique", c_uint),
        ("state", c_ubyte),
        ("health", c_uint),
    )


class FabricV1(Structure):
    """nvmlGpuFabricInfo_t of older drivers."""

    _fields_ = (("cluster", c_ubyte * 16), ("status", c_int), ("clique", c_uint), ("state", c_ubyte))


class Value(ctypes.Union):
    """nvmlValue_t."""

    _fields_ = (("double", ctypes.c_double), ("unsigned", c_uint), ("long", c_ulonglong), ("signed", c_longlong))


class FieldValue(Structure):
    """nvmlFieldValue_t: one field, asked for with its scope, answered with a code of its own."""

    _fields_ = (
        ("field", c_uint),
        ("scope", c_uint),
        ("timestamp", c_longlong),
        ("latency", c_longlong),
        ("kind", c_int),
        ("code", c_int),
        ("value", Value),
    )


def versioned(made: "MemoryV2 | Margin | FabricV2", number: int) -> None:
    """Write size and version as NVML_STRUCT_VERSION does."""
    made.version = ctypes.sizeof(made) | (number << 24)

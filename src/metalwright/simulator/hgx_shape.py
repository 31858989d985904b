"""How a GPU server is laid out: PCI addresses, NUMA nodes, and which NVSwitch port each GPU port reaches.

Numbers of one layout follow an HGX H100 8-GPU board: 18 NVLinks a GPU, spread 4, 5, 5, 4 over four switches (read from the
Redfish tree of a DGX H100, 2024-07); the port numbers themselves are our own and depend on counts only.
"""

from functools import cache

from metalwright.model.hardware import NvLink

_GPU_BUSES = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
_NIC_BUSES = (0x18, 0x40, 0x4F, 0x5E, 0x9A, 0xC0, 0xCE, 0xDC)
_DRIVE_BUSES = (0x2A, 0x2B, 0x2C, 0x2D, 0xAA, 0xAB, 0xAC, 0xAD)
_SWITCH_BUSES = (0x05, 0x06, 0x07, 0x08)

GPU_DEVICE_IDS = {"H100": "2330", "H200": "2335", "B200": "2901", "GB200": "2941", "A100": "20b2"}
"""PCI device ids under vendor 10de, SXM or superchip forms. Source: the PCI ID repository (pci-ids.ucw.cz), 2025."""
GPU_VENDOR, SWITCH_DEVICE = "10de", "22a3"
NIC_VENDOR, NIC_DEVICE = "15b3", "1021"
ONBOARD_VENDOR, ONBOARD_DEVICE = "8086", "1563"
DRIVE_VENDOR, DRIVE_DEVICE = "144d", "a80a"
ONBOARD_ADDRESS = "0000:0b:00.0"


def gpu_device_id(model: str) -> str:
    """The PCI device id of a GPU model text such as `H100 80GB HBM3`; longest name wins (`GB200` before `B200`)."""
    known = sorted(GPU_DEVICE_IDS, key=len, reverse=True)
    return next((GPU_DEVICE_IDS[name] for name in known if name in model), "2330")


def gpu_address(index: int) -> str:
    return _address(_GPU_BUSES, index, 0)


def nic_address(index: int) -> str:
    return _address(_NIC_BUSES, index, 0)


def drive_address(index: int) -> str:
    return _address(_DRIVE_BUSES, index, 0)


def switch_address(index: int) -> str:
    return _address(_SWITCH_BUSES, index, 0)


def _address(buses: tuple[int, ...], index: int, device: int) -> str:
    """Beyond the known slots further PCI domains repeat the pattern, so that addresses never collide."""
    domain, slot = divmod(index, len(buses))
    return f"{domain:04x}:{buses[slot]:02x}:{device:02x}.0"


def numa_node(index: int, count: int, cpus: int) -> int:
    """Parts are spread evenly over the sockets, in order."""
    return index * max(cpus, 1) // max(count, 1)


@cache
def nvlinks(gpus: int, switches: int, per_gpu: int, gbps: float, width: int = 2) -> tuple[NvLink, ...]:
    """Every GPU port with its peer, all up. One tuple for all servers of a profile: 1,000 servers share it."""
    next_port = [0] * switches
    made = []
    for gpu in range(gpus):
        for port in range(per_gpu):
            peer = None
            if switches:
                switch = _switch_of(port, per_gpu, switches)
                peer = f"NVSwitch_{switch}:{next_port[switch]}"
                next_port[switch] += 1
            agrees = True if peer else None
            made.append(NvLink(gpu=gpu, port=port, state="up", gbps=gbps, width=width, peer=peer, peer_agrees=agrees, errors=0))
    return tuple(made)


def _switch_of(port: int, per_gpu: int, switches: int) -> int:
    """Ports in pairs over the switches, the odd pair to the middle ones: 4, 5, 5, 4 for 18 over 4."""
    share, rest = divmod(per_gpu, switches)
    first = (switches - rest) // 2
    bounds, total = [], 0
    for switch in range(switches):
        total += share + (1 if first <= switch < first + rest else 0)
        bounds.append(total)
    return next(switch for switch, bound in enumerate(bounds) if port < bound)

"""nvidia-smi -q -x of a healthy node of 8 × H100 at work, written by ourselves in the driver's shape, to be broken by tests."""

from collections.abc import Mapping, Sequence

Tree = Mapping[str, "str | Tree"]

GPU: dict[str, str] = {
    "product_name": "NVIDIA H100 80GB HBM3",
    "persistence_mode": "Enabled",
    "mig_mode/current_mig": "Disabled",
    "mig_mode/pending_mig": "Disabled",
    "serial": "165000000100{n}",
    "uuid": "GPU-1f0e{n}c3d-aaaa-bbbb-cccc-00000000000{n}",
    "vbios_version": "96.00.A5.00.01",
    "gpu_recovery_action": "None",
    "pci/pci_bus_id": "00000000:{n}B:00.0",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "5",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "5",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "pci/replay_counter": "0",
    "clocks_event_reasons/clocks_event_reason_gpu_idle": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown": "Not Active",
    "fb_memory_usage/total": "81559 MiB",
    "utilization/gpu_util": "100 %",
    "ecc_mode/current_ecc": "Enabled",
    "ecc_mode/pending_ecc": "Enabled",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/sram_uncorrectable_secded": "0",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_uncorrectable_parity": "0",
    "ecc_errors/aggregate/sram_uncorrectable_secded": "0",
    "ecc_errors/aggregate/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "ecc_errors/channel_repair_pending": "No",
    "ecc_errors/tpc_repair_pending": "No",
    "retired_pages/pending_retirement": "N/A",
    "remapped_rows/remapped_row_corr": "0",
    "remapped_rows/remapped_row_unc": "0",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
    "temperature/gpu_temp": "61 C",
    "temperature/gpu_temp_tlimit": "24 C",
    "temperature/gpu_temp_slow_tlimit_threshold": "-2 C",
    "gpu_power_readings/instant_power_draw": "690.12 W",
    "gpu_power_readings/current_power_limit": "700.00 W",
    "gpu_power_readings/default_power_limit": "700.00 W",
    "clocks/sm_clock": "1755 MHz",
    "max_clocks/sm_clock": "1980 MHz",
    "fabric/state": "Completed",
    "fabric/status": "Success",
    "fabric/cliqueId": "0",
    "fabric/clusterUuid": "00000000-0000-0000-0000-000000000000",
    "fabric/health/summary": "Healthy",
    "fabric/health/incorrect_configuration": "None",
}


def node(count: int = 8) -> list[dict[str, str]]:
    """Path → text of every GPU."""
    return [{path: text.replace("{n}", str(number)) for path, text in GPU.items()} for number in range(count)]


def document(gpus: Sequence[Mapping[str, str]], *, attached: int | None = None, driver: str = "580.105.08") -> bytes:
    """The whole output."""
    head = f"<driver_version>{driver}</driver_version><cuda_version>13.0</cuda_version>"
    head += f"<attached_gpus>{len(gpus) if attached is None else attached}</attached_gpus>"
    body = "".join(f'<gpu id="{gpu.get("pci/pci_bus_id", "")}">{_elements(_nested(gpu))}</gpu>' for gpu in gpus)
    return f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd">\n<nvidia_smi_log>{head}{body}</nvidia_smi_log>\n'.encode()


def _nested(gpu: Mapping[str, str]) -> Tree:
    tree: dict[str, str | Tree] = {}
    for path, text in gpu.items():
        *groups, name = path.split("/")
        at = tree
        for group in groups:
            at = at.setdefault(group, {})  # type: ignore[assignment]
        at[name] = text
    return tree


def _elements(tree: Tree) -> str:
    return "\n".join(f"<{name}>{value if isinstance(value, str) else _elements(value)}</{name}>" for name, value in tree.items())

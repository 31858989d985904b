"""inventory.identity: the serial of the spec is the serial out-of-band is the serial in-band; UUIDs too where known."""

from metalwright.gates.answers import failed, listed, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import in_band_if_seen, out_of_band_if_seen, power
from metalwright.gates.serials import same_uuid, uuid_of
from metalwright.gates.sights import POWER, agent, bmc
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.placeholders import serial_of

DO = "the wrong machine is at this address or in this slot: compare the label with nodes.csv, swap the cable or correct the spec"


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Every witness that names a serial names the spec's."""
    wanted = serial_of(case.node.serial)
    expected = f"serial {case.node.serial}" + (f", UUID {case.node.uuid}" if case.node.uuid else "")
    if wanted is None:
        return failed(expected, "the spec's serial is a placeholder", "write the serial of the label to nodes.csv")
    serials = _serials(case)
    wrong = [f"{who}: {serial_of(text)}" for who, text in serials.items() if serial_of(text) not in (wanted, None)]
    wrong += _wrong_uuids(case)
    if wrong:
        return failed(expected, listed(wrong), DO)
    silent = [who for who, text in serials.items() if serial_of(text) is None]
    if silent:
        do = "program the serial into the board (SMBIOS type 1), or waive with a reason"
        return undetermined(f"no usable serial from {listed(silent)}", do, expected=expected)
    return passed(expected, f"serial {wanted} by {listed(serials)}")


def _serials(case: NodeCase) -> dict[str, str | None]:
    """What each witness that was seen says; the power reading only where it says something."""
    found: dict[str, str | None] = {}
    seen_power, outside, inside = power(case), out_of_band_if_seen(case), in_band_if_seen(case)
    if seen_power is not None and serial_of(seen_power.identity_serial):
        found["the BMC's power reading"] = seen_power.identity_serial
    if outside is not None:
        found["the BMC"] = outside.identity.system_serial
    if inside is not None:
        found["the agent"] = inside.identity.system_serial
    return found


def _wrong_uuids(case: NodeCase) -> list[str]:
    outside, inside = out_of_band_if_seen(case), in_band_if_seen(case)
    texts = {
        "the spec": case.node.uuid,
        "the BMC": outside.identity.uuid if outside else None,
        "the agent": inside.identity.uuid if inside else None,
    }
    known = [(who, uuid) for who, text in texts.items() if (uuid := uuid_of(text)) is not None]
    if len(known) < 2 or all(same_uuid(known[0][1], uuid) for _, uuid in known[1:]):
        return []
    return [f"UUID {uuid} by {who}" for who, uuid in known]


CHECK = Check(
    id=CheckId("inventory.identity"),
    gate=Gate.INVENTORY,
    version=1,
    title="The machine is the one that was specified",
    rule="The system serial of the spec, of the BMC and of the agent on the node are equal; UUIDs are equal where they are known.",
    source="SMBIOS DSP0134 type 1 (serial, UUID and its byte order); Redfish ComputerSystem.SerialNumber",
    sights=(
        POWER,
        bmc("identity/system_serial", "identity/serial", powered=False),
        agent("identity/system_serial", "identity/serial"),
    ),
    judge=judge,
    fails_early=True,
)

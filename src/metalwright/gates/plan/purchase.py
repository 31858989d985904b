"""plan.purchase: every node was bought once, and the list names no machine that is not in the plan."""

from collections import Counter

from metalwright.gates.answers import failed, listed, number, passed
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId
from metalwright.model.placeholders import serial_of


def judge(case: SiteCase) -> tuple[Answer, ...]:
    """Node serials once each; no serial twice; parts belong to known nodes."""
    expected = "each node's serial once on the purchase list, no serial twice, parts in nodes of the spec"
    lines = case.spec.purchase
    if not lines:
        return failed(expected, "no purchase list", "add the vendor's packing list: `purchase:` in site.yaml")
    counts = Counter(serial for line in lines if (serial := serial_of(line.serial)))
    nodes = {serial_of(node.serial): node for node in case.spec.nodes}
    wrong = [
        f"{node.name} ({node.serial}) is on the list {counts[serial or '']} times"
        for serial, node in nodes.items()
        if counts[serial or ""] != 1
    ]
    of_nodes = set(nodes)
    wrong += [f"serial {serial} is on the list {count} times" for serial, count in counts.items() if count > 1 and serial not in of_nodes]
    strays = {line.node_serial for line in lines if line.node_serial and serial_of(line.node_serial) not in of_nodes}
    wrong += [f"parts are for {serial}, which is no node of the spec" for serial in sorted(strays)]
    wrong += [
        f"line {line.line}: serial {line.serial} with quantity {line.quantity}" for line in lines if line.serial and line.quantity != 1
    ]
    if wrong:
        return failed(expected, listed(wrong), "correct the packing list or nodes.csv, and ask the vendor where they disagree")
    return passed(expected, f"{number(len(nodes), 'node')} and {number(len(counts), 'serial')} on {number(len(lines), 'line')}")


CHECK = SiteCheck(
    id=CheckId("plan.purchase"),
    version=1,
    title="Every node was bought",
    rule="The purchase list names each node's serial exactly once, no serial twice, and parts only of nodes in the spec.",
    source="the vendor's packing list (`purchase` of the spec)",
    judge=judge,
)

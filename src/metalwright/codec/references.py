"""Do the parts of a spec fit together: every name that is used exists, and what may be once is there once.

Well-formedness only. Whether the power, the cables or the objectives are good enough is judged by the gates.
"""

from collections.abc import Iterable

from metalwright.codec.draft import Draft
from metalwright.codec.network_references import check_cables, check_fabrics, check_netboot
from metalwright.codec.notebook import Notebook, SpecPath, did_you_mean, quote
from metalwright.codec.once import Once
from metalwright.model.judgement import Gate, Phase
from metalwright.model.spec import (
    AcceptanceSpec,
    Capacity,
    FirmwareLine,
    HardwareProfile,
    ImageRecipe,
    NodeSpec,
    Objective,
    ProfileSpec,
    PurchaseLine,
    RackSpec,
    SystemSpec,
)

SHAPE_VERSION = 1


def check_references(draft: Draft, library: Iterable[HardwareProfile], book: Notebook) -> None:
    """Every check below, over what could be read."""
    _check_version(draft, book)
    _check_racks(draft, book)
    _check_profiles(draft, library, book)
    _check_nodes(draft, book)
    _check_purchase(draft, book)
    check_fabrics(draft, book)
    check_cables(draft, book)
    check_netboot(draft, book)
    _check_firmware(draft, book)
    _check_images(draft, book)
    _check_people(draft, book)
    _check_objectives(draft, book)


def _check_version(draft: Draft, book: Notebook) -> None:
    version = draft.value("metalwright", int)
    if version is not None and version != SHAPE_VERSION:
        book.blame(
            ("metalwright",), f"version {version} of the spec's shape is not read here", f"this metalwright reads version {SHAPE_VERSION}"
        )


def _check_racks(draft: Draft, book: Notebook) -> None:
    names = Once("rack", book)
    for path, rack in draft.each("racks", RackSpec):
        names.add(rack.name.lower(), (*path, "name"), rack.name, hint="one entry per rack")
        feeds = Once("feed", book)
        for index, feed in enumerate(rack.feeds):
            feeds.add(feed.name, (*path, "feeds", index, "name"), feed.name, hint="one entry per feed of a rack")
        if not rack.feeds:
            book.blame(
                (*path, "feeds"), f"rack {rack.name} has no power feed", "name each feed with its usable kW: feeds: [{name: A, kw: 17.3}]"
            )
    if not draft.named("racks") and "racks" not in draft.unsure and "racks" in draft.items:
        book.blame(("racks",), "no rack is declared", "declare each rack with its feeds and cooling")


def _check_profiles(draft: Draft, library: Iterable[HardwareProfile], book: Notebook) -> None:
    known = [profile.name for profile in library]
    for path, profile in draft.each("profiles", ProfileSpec):
        if profile.base not in known:
            book.blame((*path, "base"), f"no library profile {quote(profile.base)}", did_you_mean(profile.base, known, "library profiles"))


def _check_nodes(draft: Draft, book: Notebook) -> None:
    heights = {rack.name: rack.units for _, rack in draft.each("racks", RackSpec)}
    once = {what: Once(what, book) for what in ("node", "serial", "BMC", "boot MAC", "UUID", "rack unit")}
    for path, node in draft.each("nodes", NodeSpec):
        once["node"].add(node.name, (*path, "name"), node.name, hint="node names are host names: each once")
        once["serial"].add(node.serial.lower(), (*path, "serial"), node.serial, hint="two servers never share a serial: read both labels")
        once["BMC"].add(_address(node.bmc), (*path, "bmc"), node.bmc, hint="each node has its own BMC address")
        once["boot MAC"].add(node.boot_mac, (*path, "boot_mac"), node.boot_mac, hint="each port has its own MAC: read both labels")
        if node.uuid is not None:
            once["UUID"].add(
                node.uuid.lower(), (*path, "uuid"), node.uuid, hint="vendors ship copies by mistake: leave the column empty then"
            )
        once["rack unit"].add(
            (node.rack, node.unit), (*path, "unit"), f"{node.rack} unit {node.unit}", hint="the lowest unit of each server is its own"
        )
        _refers(draft, "racks", node.rack, (*path, "rack"), book)
        _refers(draft, "profiles", node.profile, (*path, "profile"), book)
        height = heights.get(node.rack)
        if height is not None and node.unit > height:
            book.blame(
                (*path, "unit"), f"unit {node.unit} is outside rack {node.rack}, which has {height}", "units count from 1 at the bottom"
            )
    if not draft.named("nodes") and "nodes" not in draft.unsure and "nodes" in draft.items:
        book.blame(("nodes",), "no node is declared", "one line per server")


_PORTS = {"https": 443, "ipmi": 623}


def _address(bmc: str) -> str:
    """Host and port: `https://10.0.0.1` and `https://10.0.0.1:443` are one BMC."""
    scheme, _, rest = bmc.partition("://")
    has_port = rest.rpartition(":")[2].isdigit() and not rest.endswith("]")
    return rest if has_port else f"{rest}:{_PORTS.get(scheme, 80)}"


def _check_purchase(draft: Draft, book: Notebook) -> None:
    serials = Once("serial", book)
    lines = list(draft.each("purchase", PurchaseLine))
    owners = draft.named("purchase") | draft.named("serials of nodes")
    for path, line in lines:
        if line.serial is not None:
            serials.add(
                (line.serial.lower(), line.kind),
                (*path, "serial"),
                line.serial,
                hint="each part is listed once: ask the vendor which line is right",
            )
            if line.quantity != 1:
                book.blame((*path, "quantity"), f"serial {line.serial} {line.quantity} times", "one line per serial")
        if line.node_serial is not None and line.node_serial not in owners and "nodes" not in draft.unsure:
            hint = did_you_mean(line.node_serial, owners if len(owners) < 20_000 else (), "serials of nodes")
            book.blame((*path, "node_serial"), f"no node and no line has the serial {quote(line.node_serial)}", hint)


def _check_firmware(draft: Draft, book: Notebook) -> None:
    once = Once("firmware line", book)
    for path, line in draft.each("firmware", FirmwareLine):
        _refers(draft, "profiles", line.profile, (*path, "profile"), book)
        once.add((line.profile, line.component), path, f"{line.profile} {line.component}", hint="one wanted version per component")


def _check_images(draft: Draft, book: Notebook) -> None:
    once = Once("image", book)
    for path, recipe in draft.each("images", ImageRecipe):
        once.add((recipe.name, recipe.version), path, f"{recipe.name}@{recipe.version}", hint="a changed recipe gets a new version")
        if recipe.frame_mib > recipe.size_mib:
            book.blame(
                (*path, "frame_mib"),
                f"a frame of {recipe.frame_mib} MiB is larger than the image of {recipe.size_mib} MiB",
                "4 is a good value",
            )
    system = draft.value("system", SystemSpec)
    if system is not None:
        _refers(draft, "images", system.image, ("system", "image"), book)
        if len(system.disks.mirror) == 1 or len(set(system.disks.mirror)) != len(system.disks.mirror):
            book.blame(("system", "disks", "mirror"), "a mirror needs two or more different disks", "name both, or leave the key out")


def _check_people(draft: Draft, book: Notebook) -> None:
    for role, principals in (draft.value("responsible", dict) or {}).items():
        once = Once("principal", book)
        for index, principal in enumerate(principals):
            once.add(principal, ("responsible", str(role), index), principal, hint="each principal once per role")
    known = list(dict.fromkeys([*Gate, *Phase]))
    for name in draft.value("depth", dict) or {}:
        if name not in known:
            book.blame(("depth", name), f"no gate or phase {quote(name)}", did_you_mean(name, known, "gates and phases"))
    acceptance = draft.value("acceptance", AcceptanceSpec)
    waived = Once("check", book)
    for index, check in enumerate(acceptance.waived_in_plan if acceptance else ()):
        waived.add(check, ("acceptance", "waived_in_plan", index), check, hint="each check once")


def _check_objectives(draft: Draft, book: Notebook) -> None:
    capacity = draft.value("capacity", Capacity)
    workloads = [workload.name for workload in capacity.workloads] if capacity else []
    once = Once("workload", book)
    for index, name in enumerate(workloads):
        once.add(name, ("capacity", "workloads", index, "name"), name, hint="one line per workload")
    names = Once("objective", book)
    for path, objective in draft.each("objectives", Objective):
        names.add((objective.name, objective.workload), (*path, "name"), objective.name, hint="one target per objective and workload")
        if (objective.at_least is None) == (objective.at_most is None):
            book.blame(path, f"objective {objective.name} needs one target", "give either at_least or at_most")
        if objective.workload is not None and "capacity" in draft.values and capacity and objective.workload not in workloads:
            hint = did_you_mean(objective.workload, workloads, "workloads of capacity")
            book.blame((*path, "workload"), f"no workload {quote(objective.workload)}", hint)


def _refers(draft: Draft, key: str, name: str, path: SpecPath, book: Notebook) -> None:
    """A name that must be declared under a key. Silent where that key could not be read at all: it has its own problem."""
    if name not in draft.named(key) and key not in draft.unsure:
        hint = did_you_mean(name, draft.named(key), f"{key} declared")
        book.blame(path, f"{quote(name)} is not declared under {key}", hint)

"""The cable plan against what was seen, link by link: one finding per physical fault, each with the move that mends it.

Time and memory grow with the number of cables and links, not with their product.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from metalwright.model.cabling import UNNAMED, CableFault, CableFinding, End, LinkSight, SeenLink
from metalwright.model.spec import CableSpec

UNDETERMINED = frozenset((CableFault.UNHEARD, CableFault.UNNAMED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """`matched`: labels of cables that both plan and a sight show between the same two ports, good or slow."""

    findings: tuple[CableFinding, ...]
    planned: int
    seen: int
    matched: int
    unread: tuple[str, ...]

    @property
    def colour(self) -> str:
        """Red for a positive fault; undetermined when some end was not heard or some line not read; green otherwise."""
        faults = {finding.fault for finding in self.findings}
        if faults - UNDETERMINED:
            return "red"
        return "undetermined" if faults or self.unread or not self.seen else "green"


def compare(plan: Sequence[CableSpec], sights: Iterable[LinkSight], rates_gbps: Mapping[str, float] | None = None) -> Compared:
    """`rates_gbps`: fabric → rate that a port is bought for; without it, what most links of the fabric run at."""
    sights = tuple(sights)
    return _Comparison(plan, sights, rates_gbps or {}).result()


class _Comparison:
    """Four passes: what is as planned, what leads elsewhere, what is missing, what nobody planned."""

    def __init__(self, plan: Sequence[CableSpec], sights: tuple[LinkSight, ...], rates: Mapping[str, float]) -> None:
        self._plan, self._sights, self._rates = plan, sights, rates
        self._cable_at = {end: cable for cable in plan for end in _ends(cable)}
        self._devices = {end.device for end in self._cable_at}
        self._spoke = {(sight.format, self._device(device)) for sight in sights for device in sight.spoke}
        """A host whose LLDP neighbours were read has said nothing of its InfiniBand ports."""
        self._said: dict[End, SeenLink] = {}
        self._format: dict[End, str] = {}
        for sight in sights:
            for link in sight.links:
                if link.far is not None:
                    self._say(sight.format, replace(link, near=self._end(link.near), far=self._end(link.far)), link.far)
        self._far = self._said.copy()
        """Port → the link there, by whichever end said it; an end's own word wins."""
        for link in self._said.values():
            if link.far is not None:
                self._far.setdefault(link.far, replace(link, near=link.far, far=link.near))
        self._formats: dict[str, set[str]] = {}
        """Fabric → the formats that show any of its ports."""
        for end, format_ in self._format.items():
            if end in self._cable_at:
                self._formats.setdefault(self._cable_at[end].fabric, set()).add(format_)
        self._explained: set[End] = set()
        self._findings: list[CableFinding] = []

    def _say(self, format_: str, link: SeenLink, far: End) -> None:
        self._said[link.near] = link
        self._format[link.near] = format_
        self._format.setdefault(self._end(far), format_)

    def _end(self, end: End) -> End:
        return End(device=self._device(end.device), port=end.port)

    def _device(self, name: str) -> str:
        """Its name in the plan: a system that gives its full domain name is meant by its first label, if the plan knows that."""
        return name if name in self._devices or (short := name.partition(".")[0]) not in self._devices else short

    def _heard(self, end: End, cable: CableSpec) -> bool:
        return any((format_, end.device) in self._spoke for format_ in self._formats.get(cable.fabric, ()))

    def result(self) -> Compared:
        good = [cable for cable in self._plan if self._leads(cable)]
        moved = [cable for cable in self._plan if not self._leads(cable)]
        for cable in good:
            self._explained.update(_ends(cable))
        self._good(good)
        self._moved(moved)
        self._unexpected()
        unread = tuple(line for sight in self._sights for line in sight.unread)
        order = sorted(self._findings, key=lambda finding: (finding.where.device, _natural(finding.where.port), finding.labels))
        links = {frozenset((link.near, link.far)) for link in self._said.values() if link.far is not None}
        return Compared(findings=tuple(order), planned=len(self._plan), seen=len(links), matched=len(good), unread=unread)

    def _leads(self, cable: CableSpec) -> bool:
        a, b = _ends(cable)
        return any(self._said.get(one) is not None and self._said[one].far == other for one, other in ((a, b), (b, a)))

    def _good(self, cables: Sequence[CableSpec]) -> None:
        usual = _usual_rates((cable.fabric, self._rate(cable)) for cable in cables)
        for cable in cables:
            a, b = _ends(cable)
            wanted, rate = self._rates.get(cable.fabric, usual.get(cable.fabric)), self._rate(cable)
            if wanted is not None and rate is not None and rate < wanted:
                basis = "" if cable.fabric in self._rates else f", as most links of fabric {cable.fabric}"
                lanes = min((link.lanes for end in (a, b) if (link := self._far.get(end)) and link.lanes), default=None)
                self._add(
                    CableFault.SLOW,
                    (cable,),
                    expected=f"{_gbps(wanted)} between {a} and {b}{basis}",
                    seen=_gbps(rate) + (f" on {lanes} lanes" if lanes else ""),
                    do="reseat both plugs; then change the cable, then the optics",
                )
            for near, far in ((a, b), (b, a)):
                if self._said.get(near) is None and (self._format[far], near.device) in self._spoke:
                    self._add(
                        CableFault.ONE_SIDED,
                        (cable,),
                        expected=f"{near} and {far} name each other",
                        seen=f"{far.device} names {near}, and {near.device} does not list that port",
                        do=f"look again; if it stays, {near.device} receives nothing: clean or change the fibre at {near}",
                        where=near,
                    )

    def _moved(self, cables: Sequence[CableSpec]) -> None:
        told: set[str] = set()
        for fabric in dict.fromkeys(cable.fabric for cable in cables if cable.fabric not in self._formats):
            unheard = tuple(cable for cable in cables if cable.fabric == fabric)
            told |= {cable.label for cable in unheard}
            self._add(
                CableFault.UNHEARD,
                unheard,
                expected=f"{len(unheard)} cables of fabric {fabric}",
                seen="no link of it is in these files",
                do=f"give a file that shows it, or leave it out: --fabric NAME (not {fabric})",
            )
        for cable in cables:
            if cable.label in told:
                continue
            partner = self._swapped_with(cable)
            if partner is not None:
                told |= {cable.label, partner.label}
                self._swapped(cable, partner)
            else:
                self._one(cable)

    def _swapped_with(self, cable: CableSpec) -> CableSpec | None:
        """The cable that has this one's far port while this one has its: four ports of the plan, two exchanged plugs."""
        for a, b in (_ends(cable), _ends(cable)[::-1]):
            c = self._seen_at(a)
            other = self._cable_at.get(c) if c is not None else None
            if c is None or other is None or other is cable:
                continue
            d = _other_end(other, c)
            if self._seen_at(b) == d:
                return other
        return None

    def _swapped(self, one: CableSpec, other: CableSpec) -> None:
        near, plug, there = self._exchange(one, other)
        far = _other_end(other, there)
        others = f"{plug} and {there}" if plug.device != there.device else f"{plug.device} ports {plug.port} and {there.port}"
        self._add(
            CableFault.SWAPPED,
            (one, other),
            expected=f"{near} to {plug}, {far} to {there}",
            seen=f"{near} to {there}, {far} to {plug}",
            do=f"exchange the plugs in {others}",
            where=min(plug, there),
        )
        self._explained.update((near, plug, there, far))

    def _exchange(self, one: CableSpec, other: CableSpec) -> tuple[End, End, End]:
        """An end that stayed, its planned far port, and the port of `other` it leads to: of the two views, the one on a single device."""
        views = []
        for near, plug in (_ends(one), _ends(one)[::-1]):
            there = self._seen_at(near)
            if there is not None and self._cable_at.get(there) is other:
                views.append((near, plug, there))
        return min(views, key=lambda view: view[1].device != view[2].device)

    def _one(self, cable: CableSpec) -> None:
        a, b = _ends(cable)
        for near, wanted in ((a, b), (b, a)):
            found = self._seen_at(near)
            if found is not None and found.device.startswith(UNNAMED):
                self._add(
                    CableFault.UNNAMED,
                    (cable,),
                    expected=f"{near} to {wanted}",
                    seen=f"{near} to {found.device}, which has its factory's description",
                    do=f"give it its name: on {wanted.device}, rdma-ndd or /sys/class/infiniband/*/node_desc",
                    where=near,
                )
                self._explained.update((near, found))
                return
            if found is not None:
                self._add(
                    CableFault.WRONG_PORT,
                    (cable,),
                    expected=f"{near} to {wanted}",
                    seen=f"{near} to {found}" + self._whose(found, cable),
                    do=f"move cable {cable.label}: {_move(found, wanted)}",
                    where=found,
                )
                self._explained.update((near, found))
                return
        heard = [end for end in (a, b) if self._heard(end, cable)]
        if heard:
            self._add(
                CableFault.MISSING,
                (cable,),
                expected=f"{a} to {b}",
                seen=f"no link at {heard[0]}" + (f" and none at {heard[1]}" if len(heard) > 1 else ""),
                do=f"plug in cable {cable.label} at both ends; a link that stays down has a bad cable or optics",
                where=heard[0],
            )
        else:
            self._add(
                CableFault.UNHEARD,
                (cable,),
                expected=f"{a} to {b}",
                seen=f"neither {a.device} nor {b.device} is in the files",
                do="collect the neighbours of one of them and give that file too",
            )

    def _unexpected(self) -> None:
        for near, link in sorted(self._far.items()):
            far = link.far
            if far is None or near in self._explained or far in self._explained or near > far:
                continue
            self._findings.append(
                CableFinding(
                    fault=CableFault.UNEXPECTED,
                    labels=(),
                    fabric="",
                    expected="no cable",
                    seen=f"{near} to {far}",
                    do="pull it, or add it to the cable plan",
                    where=near,
                )
            )

    def _seen_at(self, end: End) -> End | None:
        link = self._far.get(end)
        return link.far if link is not None else None

    def _rate(self, cable: CableSpec) -> float | None:
        """The lower of what both ends say."""
        return min((link.rate_gbps for end in _ends(cable) if (link := self._far.get(end)) and link.rate_gbps), default=None)

    def _whose(self, found: End, cable: CableSpec) -> str:
        owner = self._cable_at.get(found)
        return f", which is cable {owner.label}'s" if owner is not None and owner is not cable else ""

    def _add(
        self, fault: CableFault, cables: tuple[CableSpec, ...], *, expected: str, seen: str, do: str, where: End | None = None
    ) -> None:
        labels = tuple(sorted(cable.label for cable in cables))
        place = where or _ends(cables[0])[0]
        self._findings.append(
            CableFinding(fault=fault, labels=labels, fabric=cables[0].fabric, expected=expected, seen=seen, do=do, where=place)
        )


def _ends(cable: CableSpec) -> tuple[End, End]:
    return (
        End(device=cable.a_device.lower(), port=cable.a_port.lower()),
        End(device=cable.b_device.lower(), port=cable.b_port.lower()),
    )


def _other_end(cable: CableSpec, end: End) -> End:
    a, b = _ends(cable)
    return b if end == a else a


def _usual_rates(seen: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    counts: dict[str, Counter[float]] = {}
    for fabric, rate in seen:
        if rate is not None:
            counts.setdefault(fabric, Counter())[rate] += 1
    return {fabric: max(counter.items(), key=lambda item: (item[1], item[0]))[0] for fabric, counter in counts.items()}


def _move(found: End, wanted: End) -> str:
    """In the words of someone who stands there: `2 ports up at leaf04, from 17 to 19`."""
    if found.device == wanted.device and found.port.isdigit() and wanted.port.isdigit():
        steps = int(wanted.port) - int(found.port)
        ports = "one port" if abs(steps) == 1 else f"{abs(steps)} ports"
        return f"{ports} {'up' if steps > 0 else 'down'} at {wanted.device}, from {found.port} to {wanted.port}"
    return f"from {found} to {wanted}"


def _gbps(rate: float) -> str:
    return f"{rate:g} Gb/s"


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """`swp2` before `swp10`."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", text))

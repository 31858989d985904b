"""What a recorded BMC can change: power, boot override, sessions. Everything else stays as it was recorded."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from metalwright.simulator.recorded.tree import ROOT, RecordedTree
from metalwright.simulator.redfish.answers import Answer, refuse

Document = dict[str, Any]
_POWER_AFTER = {
    "On": "On",
    "ForceOn": "On",
    "ForceOff": "Off",
    "GracefulShutdown": "Off",
    "ForceRestart": "On",
    "GracefulRestart": "On",
    "PowerCycle": "On",
}
_SEATS = 16
"""Sessions at a time, as BMCs have them (quirk Q02)."""


@dataclass(slots=True)
class RecordedState:
    """The tree with what clients did to it. `now` gives seconds since 1970."""

    tree: RecordedTree
    now: Callable[[], float]
    changed: dict[str, Document] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    """Token → path of the session."""
    changes: int = 0

    # -- reading ---------------------------------------------------------------------------------------------------------------

    def document(self, path: str) -> Document:
        """The document as it is now; empty when there is none, or when it was recorded broken."""
        if path in self.changed:
            return self.changed[path]
        try:
            found = orjson.loads(self.tree.documents.get(path, b"{}"))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def sessions_path(self) -> str:
        """Where sessions are made: where the recorded root says."""
        links = self.document(ROOT).get("Links")
        named = links.get("Sessions") if isinstance(links, dict) else None
        link = named.get("@odata.id") if isinstance(named, dict) else None
        return link.rstrip("/") if isinstance(link, str) else f"{ROOT}/SessionService/Sessions"

    def systems(self) -> list[str]:
        """Paths of the systems that were recorded."""
        collection = self.document(f"{ROOT}/Systems").get("Members")
        members = [member.get("@odata.id") for member in collection if isinstance(member, dict)] if isinstance(collection, list) else []
        return [path.rstrip("/") for path in members if isinstance(path, str)]

    def system_reset_by(self, target: str) -> str | None:
        """The system whose Reset action this is."""
        for path in self.systems():
            if _reset_action(self.document(path)).get("target") == target:
                return path
        return None

    def system_set_by(self, path: str) -> str | None:
        """The system that a PATCH of this path changes: itself, or the one whose settings object it is."""
        return next((system for system in self.systems() if path in self._boot_places(system)), None)

    def _boot_places(self, system: str) -> tuple[str, ...]:
        """Where a system's boot override is shown and set: itself and its settings object, if it has one."""
        settings = self.document(system).get("@Redfish.Settings")
        named = settings.get("SettingsObject") if isinstance(settings, dict) else None
        link = named.get("@odata.id") if isinstance(named, dict) else None
        return (system, link.rstrip("/")) if isinstance(link, str) else (system,)

    # -- changing --------------------------------------------------------------------------------------------------------------

    def log_in(self) -> Answer:
        """A new session."""
        if len(self.sessions) >= _SEATS:
            raise refuse(503, "SessionLimitExceeded")
        token = secrets.token_urlsafe(18)
        path = f"{self.sessions_path()}/{secrets.token_hex(4)}"
        self.sessions[token] = path
        return Answer(
            status=201, document={"@odata.id": path, "Id": path.rpartition("/")[2]}, headers={"X-Auth-Token": token, "Location": path}
        )

    def log_out(self, path: str) -> Answer:
        """End the session at a path."""
        for token, session in list(self.sessions.items()):
            if session == path:
                del self.sessions[token]
                return Answer(status=204)
        raise refuse(404, "ResourceMissingAtURI", path[:200])

    def reset(self, system: str, body: Mapping[str, Any]) -> Answer:
        """Power as asked, at once. A start uses up an override that holds once."""
        document = dict(self.document(system))
        kind = body.get("ResetType")
        offered = _reset_action(document).get("ResetType@Redfish.AllowableValues")
        if kind not in _POWER_AFTER or (isinstance(offered, list) and kind not in offered):
            raise refuse(400, "ActionParameterValueNotInList", str(kind)[:100], "ResetType", "ComputerSystem.Reset")
        is_start = _POWER_AFTER[kind] == "On" and (kind not in ("On", "ForceOn") or document.get("PowerState") == "Off")
        document["PowerState"] = _POWER_AFTER[kind]
        if is_start and "LastResetTime" in document:
            document["LastResetTime"] = datetime.fromtimestamp(self.now(), tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._put(system, document)
        boot = document.get("Boot")
        if is_start and isinstance(boot, dict) and boot.get("BootSourceOverrideEnabled") == "Once":
            self._show_boot(system, {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"})
        return Answer(status=204)

    def set_boot(self, system: str, body: Mapping[str, Any]) -> Answer:
        """PATCH of `Boot`, on the system or on its settings object: both show it from then on."""
        wanted = body.get("Boot")
        others = [name for name in body if name != "Boot"]
        if others or not isinstance(wanted, dict):
            raise refuse(400, "PropertyNotWritable", (others or ["Boot"])[0][:100])
        boot = self.document(system).get("Boot")
        known = boot if isinstance(boot, dict) else {}
        for name, value in wanted.items():
            offered = known.get(f"{name}@Redfish.AllowableValues")
            if not name.startswith(("BootSourceOverride", "BootOrder", "HttpBootUri", "UefiTarget")):
                raise refuse(400, "PropertyNotWritable", name[:100], prop=f"Boot/{name[:100]}")
            if isinstance(offered, list) and value not in offered:
                raise refuse(400, "PropertyValueNotInList", str(value)[:100], name, prop=f"Boot/{name}")
        self._show_boot(system, wanted)
        return Answer(status=204)

    def _show_boot(self, system: str, changes: Mapping[str, Any]) -> None:
        for place in self._boot_places(system):
            document = self.document(place)
            boot = document.get("Boot")
            if document:
                self._put(place, {**document, "Boot": {**(boot if isinstance(boot, dict) else {}), **changes}})

    def _put(self, path: str, document: Document) -> None:
        """A changed document has another ETag, where it had one."""
        self.changes += 1
        if "@odata.etag" in document:
            document = document | {"@odata.etag": f'"{self.changes:08x}"'}
        self.changed[path] = document


def _reset_action(system: Document) -> Document:
    actions = system.get("Actions")
    action = actions.get("#ComputerSystem.Reset") if isinstance(actions, dict) else None
    return action if isinstance(action, dict) else {}

"""A plain server behind a BMC, with power and boot override that really change: the tree and the handler for `TreeBmc`."""

from dataclasses import dataclass, field
from typing import Any

import orjson
from tree_bmc import Asked, Reply, TreeBmc, error

SYSTEM = "/redfish/v1/Systems/blue"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


@dataclass
class PlainHost:
    """State of one server. `tree()` renders the documents anew for each request through the handler."""

    serial: str = "SN-1"
    power: str | None = "Off"
    allowed: list[str] | None = field(default_factory=lambda: ["On", "ForceOff", "GracefulShutdown", "ForceRestart"])
    in_action_info: bool = False
    boot: dict[str, Any] = field(
        default_factory=lambda: {
            "BootSourceOverrideEnabled": "Disabled",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd", "UefiHttp"],
        }
    )
    resets: list[str] = field(default_factory=list)
    patches: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    """(path, body, If-Match) of every PATCH received."""
    lies: bool = False
    """Accept and do nothing (Q32)."""
    refuse_reset: Reply | None = None
    etag: str = ""

    def tree(self) -> dict[str, Any]:
        action: dict[str, Any] = {"target": RESET}
        if self.in_action_info:
            action["@Redfish.ActionInfo"] = f"{SYSTEM}/ResetActionInfo"
        elif self.allowed is not None:
            action["ResetType@Redfish.AllowableValues"] = self.allowed
        system = {
            "@odata.id": SYSTEM,
            "Id": "blue",
            "SerialNumber": self.serial,
            "UUID": "B11DD4F2-BFDE-1000-02BC-5CFF35FBE6E9",
            "PowerState": self.power,
            "Boot": self.boot,
            "Actions": {"#ComputerSystem.Reset": action},
        }
        parameters = [{"Name": "ResetType", "AllowableValues": self.allowed}]
        return {
            "/redfish/v1": {
                "RedfishVersion": "1.11.0",
                "Systems": {"@odata.id": "/redfish/v1/Systems"},
                "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}},
            },
            "/redfish/v1/Systems": {"Members": [{"@odata.id": SYSTEM}]},
            SYSTEM: system,
            f"{SYSTEM}/ResetActionInfo": {"Parameters": parameters},
        }

    async def handle(self, bmc: TreeBmc, asked: Asked) -> Reply | None:
        is_root = asked.path.rstrip("/") == "/redfish/v1"
        if bmc.account is not None and not is_root and not bmc.is_known(asked):
            return None
        if asked.method == "POST" and asked.path == RESET:
            return self._reset(asked.json()["ResetType"])
        if asked.method == "PATCH" and asked.path == SYSTEM:
            self.patches.append((asked.path, asked.json(), asked.headers.get("if-match")))
            self.boot.update(asked.json()["Boot"])
            return 204, {}, b""
        body = self.tree().get(asked.path.rstrip("/"))
        if asked.method != "GET" or body is None:
            return None
        return 200, {"ETag": self.etag} if self.etag else {}, orjson.dumps(body)

    def _reset(self, kind: str) -> Reply:
        self.resets.append(kind)
        if self.refuse_reset is not None:
            return self.refuse_reset
        if self.allowed is not None and kind not in self.allowed:
            return error(400, "Base.1.8.ActionParameterValueNotInList")
        if not self.lies:
            self.power = "Off" if kind in ("ForceOff", "GracefulShutdown") else "On"
        return 204, {}, b""


def bmc_of(host: PlainHost, **more: Any) -> TreeBmc:
    return TreeBmc(tree={}, handlers=[host.handle], **more)

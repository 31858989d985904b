"""Service root, sessions, accounts, events, tasks, registries: what any Redfish service has, as it stands now."""

from metalwright.simulator import seeded
from metalwright.simulator.redfish.bmc import PRIVILEGES
from metalwright.simulator.redfish.documents import PRESENT, ROOT, Document, Renderer, View, children, collection, link, resource, segment
from metalwright.simulator.redfish.systems import timestamp

SESSIONS = f"{ROOT}/SessionService/Sessions"
ACCOUNTS = f"{ROOT}/AccountService/Accounts"
ROLES = f"{ROOT}/AccountService/Roles"
SUBSCRIPTIONS = f"{ROOT}/EventService/Subscriptions"
TASKS = f"{ROOT}/TaskService/Tasks"


def service_root(view: View) -> Document:
    """`Oem.Metalwright.Simulated` is how anyone can tell that this is not a real server."""
    document = resource(
        f"{ROOT}/",
        "ServiceRoot",
        "Root Service",
        RedfishVersion="1.20.0",
        UUID=seeded.uuid_text(0, view.node.name, view.node.serial, "bmc"),
        Product="Metalwright simulated BMC",
        Vendor="Metalwright",
        ProtocolFeaturesSupported={
            "ExpandQuery": {"ExpandAll": True, "Levels": True, "Links": True, "NoLinks": True, "MaxLevels": 2},
            "OnlyMemberQuery": True,
            "SelectQuery": True,
            "FilterQuery": False,
            "ExcerptQuery": False,
            "DeepOperations": {"DeepPATCH": False, "DeepPOST": False},
        },
        Tasks=link(f"{ROOT}/TaskService"),
        Links={"Sessions": link(SESSIONS)},
        Oem={"Metalwright": {"@odata.type": "#MetalwrightServiceRoot.v1_0_0.Metalwright", "Simulated": True}},
        **children(ROOT, "Systems", "Chassis", "Managers", "Fabrics", "UpdateService", "SessionService"),
        **children(ROOT, "AccountService", "EventService", "Registries", "JsonSchemas"),
    )
    return document | {"Id": "RootService"}


# -- sessions and accounts -----------------------------------------------------------------------------------------------------


def session_service(view: View) -> Document:
    path = f"{ROOT}/SessionService"
    timeout = view.bmc.session_timeout_s
    return resource(
        path, "SessionService", "Session Service", ServiceEnabled=True, SessionTimeout=timeout, Status=PRESENT, **children(path, "Sessions")
    )


def sessions(view: View) -> Document:
    return collection(SESSIONS, "Session", "Sessions", [f"{SESSIONS}/{key}" for key in view.bmc.sessions])


def session(view: View, key: str) -> Document | None:
    found = view.bmc.sessions.get(key)
    if found is None:
        return None
    path = f"{SESSIONS}/{key}"
    return resource(path, "Session", "Session", UserName=found.user, SessionType="Redfish", CreatedTime=timestamp(found.created_at))


def account_service(view: View) -> Document:
    path = f"{ROOT}/AccountService"
    return resource(
        path,
        "AccountService",
        "Account Service",
        ServiceEnabled=True,
        MinPasswordLength=8,
        MaxPasswordLength=64,
        AccountLockoutThreshold=view.bmc.max_failures,
        Status=PRESENT,
        **children(path, "Accounts", "Roles"),
    )


def accounts(view: View) -> Document:
    return collection(ACCOUNTS, "ManagerAccount", "Accounts", [f"{ACCOUNTS}/{segment(user)}" for user in view.bmc.accounts])


def account(view: View, user: str) -> Document | None:
    found = view.bmc.accounts.get(user)
    if found is None:
        return None
    return resource(
        f"{ACCOUNTS}/{segment(user)}",
        "ManagerAccount",
        "User Account",
        UserName=found.user,
        Password=None,
        RoleId=found.role,
        Enabled=found.enabled,
        Locked=found.locked,
        AccountTypes=["Redfish"],
        Links={"Role": link(f"{ROLES}/{found.role}")},
    )


def roles(view: View) -> Document:
    return collection(ROLES, "Role", "Roles", [f"{ROLES}/{role}" for role in PRIVILEGES])


def role(view: View, key: str) -> Document | None:
    if key not in PRIVILEGES:
        return None
    path = f"{ROLES}/{key}"
    return resource(path, "Role", key, RoleId=key, IsPredefined=True, AssignedPrivileges=list(PRIVILEGES[key]))


# -- events and tasks ----------------------------------------------------------------------------------------------------------


def event_service(view: View) -> Document:
    path = f"{ROOT}/EventService"
    return resource(
        path,
        "EventService",
        "Event Service",
        ServiceEnabled=True,
        DeliveryRetryAttempts=3,
        DeliveryRetryIntervalSeconds=30,
        EventFormatTypes=["Event"],
        RegistryPrefixes=["Base"],
        ResourceTypes=["ComputerSystem", "Processor", "Drive", "Port"],
        Status=PRESENT,
        **children(path, "Subscriptions"),
    )


def subscriptions(view: View) -> Document:
    return collection(SUBSCRIPTIONS, "EventDestination", "Subscriptions", [f"{SUBSCRIPTIONS}/{key}" for key in view.bmc.subscriptions])


def subscription(view: View, key: str) -> Document | None:
    found = view.bmc.subscriptions.get(key)
    if found is None:
        return None
    return resource(f"{SUBSCRIPTIONS}/{key}", "EventDestination", "Event Subscription", **found)


def task_service(view: View) -> Document:
    path = f"{ROOT}/TaskService"
    return resource(path, "TaskService", "Task Service", ServiceEnabled=True, Status=PRESENT, **children(path, "Tasks"))


def tasks(view: View) -> Document:
    return collection(TASKS, "Task", "Tasks", [f"{TASKS}/{key}" for key in view.bmc.tasks])


def task(view: View, key: str) -> Document | None:
    found = view.bmc.tasks.get(key)
    return resource(f"{TASKS}/{key}", "Task", "Task", **found) if found else None


# -- registries ----------------------------------------------------------------------------------------------------------------


def registries(view: View) -> Document:
    return collection(f"{ROOT}/Registries", "MessageRegistryFile", "Registries", [f"{ROOT}/Registries/Base"])


def registry(view: View) -> Document:
    """Only the publication address: the Base registry itself is DMTF's (DSP8011)."""
    return resource(
        f"{ROOT}/Registries/Base",
        "MessageRegistryFile",
        "Base Message Registry",
        Registry="Base.1.19",
        Languages=["en"],
        Location=[{"Language": "en", "PublicationUri": "https://redfish.dmtf.org/registries/Base.1.19.0.json"}],
    )


def schemas(view: View) -> Document:
    return collection(f"{ROOT}/JsonSchemas", "JsonSchemaFile", "JSON Schemas", [])


ROUTES: dict[str, Renderer] = {
    ROOT: service_root,
    f"{ROOT}/SessionService": session_service,
    SESSIONS: sessions,
    f"{SESSIONS}/*": session,
    f"{ROOT}/AccountService": account_service,
    ACCOUNTS: accounts,
    f"{ACCOUNTS}/*": account,
    ROLES: roles,
    f"{ROLES}/*": role,
    f"{ROOT}/EventService": event_service,
    SUBSCRIPTIONS: subscriptions,
    f"{SUBSCRIPTIONS}/*": subscription,
    f"{ROOT}/TaskService": task_service,
    TASKS: tasks,
    f"{TASKS}/*": task,
    f"{ROOT}/Registries": registries,
    f"{ROOT}/Registries/Base": registry,
    f"{ROOT}/JsonSchemas": schemas,
}

"""`/redfish/v1/$metadata` and `/redfish/v1/odata`: the OData documents (DSP0266 8.4)."""

from metalwright.simulator.redfish.documents import ROOT, VERSIONS, Document

_ODATA = "http://docs.oasis-open.org/odata/odata/v4.0/errata03/csd01/complete/vocabularies"
_SCHEMAS = "http://redfish.dmtf.org/schemas/v1"
_COLLECTIONS = (
    "ComputerSystem",
    "Processor",
    "Memory",
    "Storage",
    "EthernetInterface",
    "NetworkInterface",
    "NetworkAdapter",
    "NetworkDeviceFunction",
    "Port",
    "BootOption",
    "Chassis",
    "PCIeDevice",
    "PCIeFunction",
    "Sensor",
    "Fan",
    "PowerSupply",
    "Fabric",
    "Switch",
    "Endpoint",
    "Manager",
    "SoftwareInventory",
    "Session",
    "ManagerAccount",
    "Role",
    "EventDestination",
    "Task",
    "LeakDetector",
    "LogEntry",
    "LogService",
    "MessageRegistryFile",
    "JsonSchemaFile",
)
_SINGLETONS = (
    "Systems",
    "Chassis",
    "Managers",
    "Fabrics",
    "UpdateService",
    "SessionService",
    "AccountService",
    "EventService",
    "TaskService",
    "Registries",
    "JsonSchemas",
)
OEM_SCHEMA_PATH = f"{ROOT}/Schemas/MetalwrightServiceRoot_v1.xml"


def metadata() -> bytes:
    """The CSDL that names every schema in use, our own included."""
    includes = [_reference(f"{_SCHEMAS}/RedfishExtensions_v1.xml", "RedfishExtensions.v1_0_0", alias="Redfish")]
    includes += [_reference(f"{_SCHEMAS}/{kind}_v1.xml", kind, f"{kind}.{version}") for kind, version in sorted(VERSIONS.items())]
    includes += [_reference(f"{_SCHEMAS}/{kind}Collection_v1.xml", f"{kind}Collection") for kind in _COLLECTIONS]
    includes += [_reference(OEM_SCHEMA_PATH, "MetalwrightServiceRoot", "MetalwrightServiceRoot.v1_0_0")]
    container = (
        '<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">'
        f'<EntityContainer Name="Service" Extends="ServiceRoot.{VERSIONS["ServiceRoot"]}.ServiceContainer"/></Schema></edmx:DataServices>'
    )
    return _document("".join(includes) + container)


def _reference(uri: str, *namespaces: str, alias: str = "") -> str:
    named = f' Alias="{alias}"' if alias else ""
    included = "".join(f'<edmx:Include Namespace="{namespace}"{named}/>' for namespace in namespaces)
    return f'<edmx:Reference Uri="{uri}">{included}</edmx:Reference>\n'


def _document(inside: str) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">\n'
    return (head + inside + "\n</edmx:Edmx>\n").encode()


def oem_schema() -> bytes:
    """The schema of `Oem.Metalwright` on the service root: one property that says that all of this is simulated."""
    oem = "MetalwrightServiceRoot"
    describe = '<Annotation Term="OData.{0}Description" String="{1}"/>'
    text = "True when the service pretends a server that does not exist."
    described = describe.format("", text) + describe.format("Long", "This property shall indicate whether the server is simulated.")
    schema = '<Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="{0}">'
    return _document(
        _reference(f"{_ODATA}/Org.OData.Core.V1.xml", "Org.OData.Core.V1", alias="OData")
        + _reference(f"{_SCHEMAS}/RedfishExtensions_v1.xml", "RedfishExtensions.v1_0_0", alias="Redfish")
        + _reference(f"{_SCHEMAS}/Resource_v1.xml", "Resource", "Resource.v1_0_0")
        + "<edmx:DataServices>"
        + schema.format(oem)
        + '<Annotation Term="Redfish.OwningEntity" String="Metalwright"/>'
        + '<ComplexType Name="Metalwright" Abstract="true"/></Schema>'
        + schema.format(f"{oem}.v1_0_0")
        + '<Annotation Term="Redfish.OwningEntity" String="Metalwright"/>'
        + f'<ComplexType Name="Metalwright" BaseType="{oem}.Metalwright"><Annotation Term="OData.AdditionalProperties" Bool="false"/>'
        + '<Property Name="Simulated" Type="Edm.Boolean" Nullable="false">'
        + f'<Annotation Term="OData.Permissions" EnumMember="OData.Permission/Read"/>{described}</Property>'
        + "</ComplexType></Schema></edmx:DataServices>"
    )


def odata() -> Document:
    """The OData service document: what the root links to."""
    entries = [{"name": "Service", "kind": "Singleton", "url": f"{ROOT}/"}]
    entries += [{"name": name, "kind": "Singleton", "url": f"{ROOT}/{name}"} for name in _SINGLETONS]
    return {"@odata.context": f"{ROOT}/$metadata", "value": entries}

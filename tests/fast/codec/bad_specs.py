"""Bad spec folders: one change each, and what the operator must be told. `at` is text of the line that is blamed."""

# ruff: noqa: E501 - a table reads better with one case per line

from dataclasses import dataclass

YAML, NODES, PACKING, CABLES, IMAGE = "site.yaml", "nodes.csv", "packing.csv", "cables.csv", "images/trainer.yaml"


@dataclass(frozen=True, kw_only=True)
class Bad:
    """`old` → `new` in `file`; then a problem in `blamed` (the same file) at the line that holds `at`, with all the `words`."""

    why: str
    file: str = YAML
    old: str
    new: str
    at: str
    words: tuple[str, ...]
    blamed: str = ""
    problems: int | None = 1


_NODE2 = "atlas02,r01,9,compute,MW0002,https://10.20.0.12,02:00:00:00:00:02"

BAD: tuple[Bad, ...] = (
    # -- YAML that could surprise ---------------------------------------------------------------------------------------------
    Bad(why="anchor", old="  tenancy: single", new="  tenancy: &t single", at="&t", words=("anchor", "not allowed", "write the value out")),
    Bad(
        why="anchor and alias",
        old="  tenancy: single\n  residency: CH",
        new="  tenancy: &t single\n  residency: *t",
        at="*t",
        words=("alias", "write the value out"),
        problems=2,
    ),
    Bad(why="tag", old="kw: 22.5", new="kw: !!float 22.5", at="!!float", words=("tag", "remove the tag")),
    Bad(why="custom tag", old="profiles:\n", new="profiles: !python/object:os.system\n", at="!python", words=("tag",)),
    Bad(why="merge key", old="scheduler: {kind: slurm}", new="scheduler:\n  <<: {kind: slurm}", at="<<", words=("merge key",)),
    Bad(
        why="duplicate key",
        old="netboot: {dhcp: none}",
        new="site: {name: other}",
        at="site: {name: other}",
        words=("`site` twice", "first in line 2", "keep one"),
    ),
    Bad(why="duplicate inner key", old="{kind: air, kw: 22.5}", new="{kind: air, kw: 1, kw: 2}", at="kw: 1", words=("`kw` twice",)),
    Bad(why="tab", old="  tenancy: single", new="\ttenancy: single", at="tenancy", words=("tab", "use spaces")),
    Bad(why="second document", old="netboot:", new="---\nnetboot:", at="---", words=("second document", "remove the line ---")),
    Bad(why="directive", old="metalwright: 1\n", new="%YAML 1.1\n---\nmetalwright: 1\n", at="---", words=("directive", "remove")),
    Bad(why="not closed", old="{name: A, kw: 22}, {", new="{name: A, kw: 22, {", at="feeds", words=("a key that is not text", "not closed")),
    Bad(why="colon in text", old="residency: CH", new="residency: a: b", at="a: b", words=("not valid YAML", "quotes")),
    Bad(why="bad indentation", old="    redundancy: N+1", new="   redundancy: N+1", at="redundancy", words=("not valid YAML", "indentation")),
    Bad(why="key that is a list", old="netboot: {dhcp: none}", new="? [a, b]\n: c", at="? [a", words=("key that is not text",)),
    Bad(why="control character", old="tenancy: single", new='tenancy: "\\x07"', at="x07", words=("control character",)),
    Bad(why="NUL escape", old="tenancy: single", new='tenancy: "\\0"', at="tenancy", words=("control character",)),
    Bad(why="NUL byte", old="tenancy: single", new="tenancy: \x00", at="tenancy", words=("YAML forbids",)),
    Bad(why="very long text", old="tenancy: single", new="tenancy: " + "x" * 5000, at="tenancy", words=("text of 5,000 characters",)),
    Bad(why="nested deeply", old="tenancy: single", new="tenancy: " + "[" * 60, at="tenancy", words=("nested deeper than 20",)),
    Bad(why="nested very deeply", old="tenancy: single", new="tenancy: " + "[" * 100_000, at="tenancy", words=("nested deeper",)),
    Bad(why="a list at the top", old="metalwright: 1\n", new="- metalwright\n", at="site:", words=("not valid YAML",)),
    # -- keys and types ---------------------------------------------------------------------------------------------------------
    Bad(why="unknown key", old="scheduler: {", new="schedular: {", at="schedular", words=("unknown key `schedular`", "did you mean scheduler?")),
    Bad(
        why="unknown inner key",
        old="redundancy: N+1",
        new="redundency: N+1",
        at="redundency",
        words=("racks[0].redundency", "unknown key", "did you mean redundancy?"),
    ),
    Bad(why="missing key", old="  residency: CH\n", new="", at="capacity:", words=("capacity.residency", "is missing", "a country or region code")),
    Bad(why="missing section", old="secrets:\n  bmc: {user: env:BMC_USER, password: file:secrets/bmc}\n", new="", at="metalwright", words=("secrets is missing", "metalwright init")),
    Bad(why="empty section", old="scheduler: {kind: slurm}", new="scheduler:", at="scheduler", words=("is empty",)),
    Bad(why="text for a number", old="kw: 22.5", new="kw: lots", at="lots", words=("racks[0].cooling.kw", "expected a number", "`lots`")),
    Bad(why="quoted number", old="units: 42", new='units: "42"', at="units", words=("expected a whole number", "the text `42`")),
    Bad(why="fraction for a count", old="gpus: 16", new="gpus: 16.5", at="16.5", words=("expected a whole number",)),
    Bad(why="infinity", old="kw: 22.5", new="kw: .inf", at=".inf", words=("expected a number",)),
    Bad(why="number beyond floats", old="kw: 22.5", new="kw: 1e400", at="1e400", words=("expected a number",)),
    Bad(why="true for a number", old="gpus: 16", new="gpus: true", at="gpus: true", words=("expected a whole number", "`true`")),
    Bad(why="negative power", old="kw: 22.5", new="kw: -22.5", at="-22.5", words=("out of range",)),
    Bad(why="list for a block", old="{kind: air, kw: 22.5}", new="[air, 22.5]", at="[air", words=("expected a block of keys", "kind, kw")),
    Bad(why="block for a list", old="  - {name: goodput,", new="  {name: goodput,", at="objectives", words=("expected a list", "hyphen")),
    Bad(why="text for a list", old="[ops-lead@example.org]", new="ops-lead@example.org", at="ops-lead", words=("expected a list",)),
    Bad(why="number for nodes", old="nodes: nodes.csv", new="nodes: 7", at="nodes: 7", words=("neither a list nor a file name",)),
    Bad(why="unknown word", old="tenancy: single", new="tenancy: singel", at="singel", words=("not known here", "did you mean single?")),
    Bad(why="unknown role", old="  waive: [", new="  wave: [", at="wave", words=("responsible.wave", "did you mean waive?")),
    Bad(why="unknown gate", old="depth: {os: ", new="depth: {ossify: ", at="ossify", words=("no gate", "inventory")),
    Bad(why="unknown depth", old="{os: automatic}", new="{os: auto}", at="auto}", words=("depth.os", "did you mean automatic?")),
    Bad(why="newer shape", old="metalwright: 1", new="metalwright: 2", at="metalwright: 2", words=("version 2", "reads version 1")),
    # -- units, secrets, names --------------------------------------------------------------------------------------------------
    Bad(why="duration without unit", old="soak: 12h", new="soak: 12", at="soak", words=("not a duration", "30s, 20min, 12h or 7d")),
    Bad(why="unknown unit", old="soak: 12h", new="soak: 12 hours", at="soak", words=("not a duration",)),
    Bad(why="no time at all", old="soak: 12h", new="soak: 0s", at="soak", words=("one second and ten years",)),
    Bad(why="bare secret", old="env:BMC_USER", new="hunter2", at="user", words=("must be a reference", "env:NAME")),
    Bad(why="secret outside", old="file:secrets/bmc", new="file:../bmc", at="../bmc", words=("must be a reference",)),
    Bad(why="site name", old="name: atlas,", new="name: Atlas One,", at="Atlas One", words=("site.name", "host name label")),
    Bad(why="system disk rule", old="system: smallest-nvme", new="system: sda", at="sda", words=("nvme:<slot>",)),
    Bad(why="no network", old="10.20.0.0/22", new="10.20.0.7/22", at="10.20.0.7/22", words=("not a network",)),
    Bad(why="DHCP without a range", old="netboot: {dhcp: none}", new="netboot: {dhcp: metalwright, interface: eth1, range_start: 10.0.0.9}", at="netboot", words=("range_end is missing",)),
    Bad(why="DHCP range backwards", old="netboot: {dhcp: none}", new="netboot: {range_start: 10.0.0.9, range_end: 10.0.0.1}", at="netboot", words=("is empty", "first address comes first")),
    # -- references -------------------------------------------------------------------------------------------------------------
    Bad(why="unknown library profile", old="base: hgx-h100-8", new="base: hgx-h100", at="base: hgx-h100,", words=("no library profile", "did you mean hgx-h100-8?")),
    Bad(why="unknown profile of firmware", old="{profile: compute, comp", new="{profile: gpu, comp", at="profile: gpu", words=("`gpu` is not declared under profiles",)),
    Bad(why="unknown image", old="image: trainer@2026.12", new="image: trainer@2026.11", at="@2026.11", words=("not declared under images", "trainer@2026.12")),
    Bad(why="unknown workload", old="workload: pretrain", new="workload: pretrane", at="pretrane", words=("no workload", "did you mean pretrain?")),
    Bad(why="objective without a target", old="at_least: 0.90, ", new="", at="goodput", words=("at_least or at_most",)),
    Bad(why="two racks of one name", old="profiles:\n  comp", new="  - {name: r01, feeds: [{name: A, kw: 1}], cooling: {kind: air, kw: 1}}\nprofiles:\n  comp", at="- {name: r01", words=("already used in line 14",)),
    Bad(why="rack without a feed", old="[{name: A, kw: 22}, {name: B, kw: 22}]", new="[]", at="feeds", words=("no power feed",)),
    Bad(why="two feeds of one name", old="{name: B, kw: 22}", new="{name: A, kw: 22}", at="feeds", words=("feed `A` is already used",)),
    # -- nodes.csv --------------------------------------------------------------------------------------------------------------
    Bad(why="duplicate node", file=NODES, old="atlas02", new="atlas01", at="MW0002", words=("node `atlas01` is already used in line 2",)),
    Bad(why="duplicate serial", file=NODES, old="MW0002", new="mw0001", at="atlas02", words=("already used in line 2", "read both labels")),
    Bad(why="two nodes with one BMC", file=NODES, old="https://10.20.0.12", new="https://10.20.0.11:443/", at="atlas02", words=("BMC", "already used in line 2")),
    Bad(why="duplicate MAC", file=NODES, old="02:00:00:00:00:02", new="0200.0000.0001", at="atlas02", words=("boot MAC", "already used in line 2")),
    Bad(why="one rack unit twice", file=NODES, old="r01,9", new="r01,1", at="atlas02", words=("rack unit `r01 unit 1`", "line 2")),
    Bad(why="unit outside the rack", file=NODES, old="r01,9", new="r01,43", at="atlas02", words=("outside rack r01, which has 42",)),
    Bad(why="unknown rack", file=NODES, old="r01,9", new="r02,9", at="atlas02", words=("`r02` is not declared under racks", "did you mean r01?")),
    Bad(why="unknown profile", file=NODES, old="9,compute", new="9,computer", at="atlas02", words=("did you mean compute?",)),
    Bad(why="unit is no number", file=NODES, old="r01,9", new="r01,top", at="atlas02", words=("nodes[1].unit", "expected a whole number", "`top`")),
    Bad(why="empty cell", file=NODES, old="MW0002", new="", at="atlas02", words=("nodes[1].serial", "the cell is empty", "printed on the label")),
    Bad(why="placeholder serial", file=NODES, old="MW0002", new="To be filled by O.E.M.", at="atlas02", words=("placeholder", "label")),
    Bad(why="zero serial", file=NODES, old="MW0002", new="0000000", at="atlas02", words=("placeholder",)),
    Bad(why="bad MAC", file=NODES, old="02:00:00:00:00:02", new="02:00:00:00:00", at="atlas02", words=("not a MAC address",)),
    Bad(why="multicast MAC", file=NODES, old="02:00:00:00:00:02", new="01:00:5e:00:00:02", at="atlas02", words=("not the MAC of a port",)),
    Bad(why="BMC over http", file=NODES, old="https://10.20.0.12", new="http://10.20.0.12", at="atlas02", words=("in the clear", "use https://")),
    Bad(why="BMC with a password", file=NODES, old="https://10.20.0.12", new="https://root:x@10.20.0.12", at="atlas02", words=("`https://***@10.20.0.12` is not the URL of a BMC",)),
    Bad(why="formula", file=NODES, old="MW0002", new="=A1", at="atlas02", words=("a formula", "paste the values")),
    Bad(why="missing column", file=NODES, old=",boot_mac", new=",mac", at="name,rack", words=("column boot_mac is missing",), problems=2),
    Bad(why="column twice", file=NODES, old=",bmc,", new=",serial,", at="name,rack", words=("column serial twice",), problems=2),
    Bad(why="too many cells", file=NODES, old="00:02\n", new="00:02,x,y\n", at="atlas02", words=("9 cells under 7 columns",)),
    Bad(why="open quote", file=NODES, old="atlas02", new='"atlas02', at="nodes: nodes.csv", words=("not CSV",), blamed=YAML),
    Bad(why="rows without a header", file=NODES, old="name,rack,unit,profile,serial,bmc,boot_mac\n", new="", at="atlas01", words=("column serial is missing",), problems=None),
    # -- packing list, cables, images -------------------------------------------------------------------------------------------
    Bad(why="a part twice", file=PACKING, old="SYS,MW0002", new="SYS2,MW0001", at="SYS2", words=("already used in line 2",)),
    Bad(why="unknown kind", file=PACKING, old="1650001,gpu", new="1650001,gpus", at="1650001", words=("did you mean gpu?",)),
    Bad(why="serial with a quantity", file=PACKING, old="gpu,1,", new="gpu,8,", at="1650001", words=("one line per serial",)),
    Bad(why="part of no node", file=PACKING, old="gpu,1,MW0001", new="gpu,1,MW0009", at="1650001", words=("no node and no line has the serial `MW0009`",)),
    Bad(why="cable with one end", file=CABLES, old="leaf01,2,", new=",,", at="C-2", words=("has one end only", "b_device and b_port")),
    Bad(why="cable with half an end", file=CABLES, old="leaf01,2,", new="leaf01,,", at="C-2", words=("has one end only: b_port",)),
    Bad(why="port used twice", file=CABLES, old="leaf01,2,", new="leaf01,1,", at="C-2", words=("cable C-2: leaf01 port 1 is already used by C-1 (line 2)",)),
    Bad(why="cable to itself", file=CABLES, old="leaf01,2,", new="atlas02,nic0,", at="C-2", words=("to itself",)),
    Bad(why="label twice", file=CABLES, old="C-2", new="C-1", at="atlas02", words=("cable label `C-1` is already used in line 2",)),
    Bad(why="unknown fabric", file=CABLES, old="2,compute", new="2,compuet", at="C-2", words=("no fabric", "did you mean compute?")),
    Bad(why="unknown builder", file=IMAGE, old="mmdebstrap", new="docker", at="builder", words=("images[0].builder", "not known here")),
    Bad(why="anchor in a recipe", file=IMAGE, old="[chrony]", new="&p [chrony]", at="packages", words=("anchor",)),
    Bad(why="recipe without a version", file=IMAGE, old="version: 2026.12\n", new="", at="name", words=("images[0].version", "is missing"), problems=None),
)  # fmt: skip

"""The files of ours in a system image, as text. Pure.

The root file system is mounted read-only, so that what runs can be read back and compared with the manifest; what has to be written
lives in memory and is gone with the next start. Sources: systemd.unit(5), machine-id(5), systemd.network(5), fstab(5).
"""

from collections.abc import Mapping

WRITABLE = ("etc", "home", "root", "srv", "var")
"""Folders that can be written, in memory: an overlay over the read-only ones. The measured slot stays as it is."""

WRITABLE_SCRIPT = """\
#!/bin/sh
# Before anything else: a layer in memory over the folders that programs write to.
set -eu
mkdir -p /run/writable
mount -t tmpfs -o mode=0755,nosuid,nodev writable /run/writable
for folder in {folders}; do
    mkdir -p "/run/writable/$folder/new" "/run/writable/$folder/work"
    chmod --reference="/$folder" "/run/writable/$folder/new"
    mount -t overlay -o "lowerdir=/$folder,upperdir=/run/writable/$folder/new,workdir=/run/writable/$folder/work" "$folder" "/$folder"
done
mount -t tmpfs -o mode=1777,nosuid,nodev tmp /tmp
"""

WRITABLE_UNIT = """\
[Unit]
Description=Layer in memory over the read-only system
DefaultDependencies=no
Before=local-fs.target sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /usr/lib/metalwright/writable
[Install]
WantedBy=local-fs.target
"""

MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",  # nothing to maintain here
    "e2scrub_reap.service", "systemd-random-seed.service", "systemd-remount-fs.service", "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service", "systemd-journal-flush.service", "systemd-pcrphase.service",
    "systemd-pcrphase-sysinit.service", "systemd-firstboot.service", "systemd-machine-id-commit.service", "ldconfig.service",
    "getty.target", "getty-static.service", "getty@tty1.service", "serial-getty@ttyS0.service", "console-getty.service",
    "systemd-networkd-wait-online.service", "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount",
    "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount",
    "dev-hugepages.mount", "dev-mqueue.mount", "modprobe@.service", "systemd-ask-password-wall.path",
    "systemd-ask-password-console.path", "systemd-initctl.socket",
)  # fmt: skip
"""Units that have nothing to do on a read-only root, and those that only cost time: nobody logs in on a console of this system."""

GENERATORS = (
    "systemd-bless-boot-generator", "systemd-cryptsetup-generator", "systemd-getty-generator", "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator", "systemd-integritysetup-generator", "systemd-rc-local-generator", "systemd-run-generator",
    "systemd-system-update-generator", "systemd-sysv-generator", "systemd-veritysetup-generator",
)  # fmt: skip
"""Generators with nothing to find here (systemd.generator(7)); each would be a process at every start."""

NETWORK = """\
[Match]
Type=ether

[Network]
DHCP=ipv4
IPv6AcceptRA=no

[DHCPv4]
ClientIdentifier=mac
UseHostname=no
"""

AGENT_UNIT = """\
[Unit]
Description=metalwright agent of the installed system
After=systemd-networkd.service
Wants=systemd-networkd.service
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/python3 -I -S -m metalwright.agent.installed
Restart=on-failure
RestartSec=30
StandardOutput=journal+console
StandardError=journal+console

[Install]
WantedBy=multi-user.target
"""


def system_files(name: str, version: str) -> Mapping[str, str]:
    """Path without leading slash → text."""
    return {
        "etc/fstab": "",
        "etc/machine-id": "",  # empty: a new one in memory for every boot, and no first-boot work (machine-id(5))
        "etc/hostname": "unnamed\n",  # the agent sets the node's name from the node-data slot
        "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "etc/metalwright-image": f"{name}@{version}\n",
        "etc/systemd/network/50-dhcp.network": NETWORK,
        "etc/systemd/system/metalwright-agent.service": AGENT_UNIT,
        "etc/systemd/system/metalwright-writable.service": WRITABLE_UNIT,
        "usr/lib/metalwright/writable": WRITABLE_SCRIPT.format(folders=" ".join(WRITABLE)),
        "etc/systemd/journald.conf.d/memory.conf": "[Journal]\nStorage=volatile\n",
    }


def system_links() -> Mapping[str, str]:
    """Path without leading slash → what the link points to."""
    units = "etc/systemd/system"
    return {
        f"{units}/multi-user.target.wants/metalwright-agent.service": "/etc/systemd/system/metalwright-agent.service",
        f"{units}/multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
        f"{units}/default.target": "/lib/systemd/system/multi-user.target",
        f"{units}/local-fs.target.wants/metalwright-writable.service": "/etc/systemd/system/metalwright-writable.service",
        **{f"{units}/{unit}": "/dev/null" for unit in MASKED},
        **{f"etc/systemd/system-generators/{name}": "/dev/null" for name in GENERATORS},
    }

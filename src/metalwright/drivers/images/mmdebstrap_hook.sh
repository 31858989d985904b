#!/bin/sh
# Runs once in the installed tree ($1): our files ($2) in, Python compiled so that nothing is compiled at run time, leftovers out.
set -eu
root=$1
python=$(basename "$(ls -d "$root"/usr/lib/python3.*)")
rm -f "$root/etc/machine-id" "$root/etc/hostname" "$root/etc/hosts" "$root/etc/resolv.conf"
cp -r "$2/system/." "$root/"
cp -r "$2/agent/metalwright" "$root/usr/lib/$python/"
[ -e "$root/usr/bin/python3" ] || ln -s "$python" "$root/usr/bin/python3"
find "$root/usr/lib" -name __pycache__ -prune -exec rm -rf {} +
# Checked by nothing at run time: the time stamps of sources change when they are clamped, and the root is read-only.
chroot "$root" "/usr/bin/$python" -I -S -m compileall -q --invalidation-mode unchecked-hash "/usr/lib/$python"
rm -rf "$root"/var/log/* "$root"/var/cache/* "$root"/var/lib/apt/lists/* "$root"/var/backups/*
# The hardware database names keyboards and mice: 22 MB to write and to measure on every node.
rm -rf "$root"/usr/lib/udev/hwdb.d "$root"/usr/lib/udev/hwdb.bin
rm -f "$root/etc/passwd-" "$root/etc/group-" "$root/etc/shadow-" "$root/etc/gshadow-" "$root/var/lib/dpkg/available-old"
# The day of the build, in a field nobody needs (shadow(5), last password change).
sed -i 's/^\([^:]*:[^:]*:\)[0-9]*:/\119000:/' "$root/etc/shadow"
chroot "$root" dpkg-query --show --showformat '${binary:Package} ${Version}\n' > "$root/usr/share/metalwright-packages"
# Licences stay; manuals and translations have no reader here.
find "$root/usr/share/doc" ! -type d ! -name copyright -delete
rm -rf "$root/usr/share/man" "$root/usr/share/info" "$root/usr/share/lintian" "$root/usr/share/locale"

#!/bin/sh
# Runs once in the fresh tree ($1): agent ($2) in, Python compiled, module dependencies computed. Compiling here saves it on every boot.
set -eu
root=$1
python=$(basename "$(ls -d "$root"/usr/lib/python3.*)")
home=$root/usr/lib/$python
for unused in config-* distutils ensurepip idlelib lib2to3 pydoc_data sqlite3 test tkinter turtledemo turtle.py unittest venv wsgiref xmlrpc; do
    # shellcheck disable=SC2086 # config-* is a pattern
    rm -rf "$home"/$unused
done
cp -r "$2/metalwright" "$home/"
chroot "$root" "/usr/bin/$python" -I -S -m compileall -q -b --invalidation-mode unchecked-hash "/usr/lib/$python"
find "$home" -name '*.py' -delete
chroot "$root" depmod "$(ls "$root/lib/modules")"

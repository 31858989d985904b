#!/bin/busybox sh
# First process of the RAM disk: devices, network, then the agent. It never ends and never hangs in silence.
export PATH=/usr/bin:/usr/sbin

say() { echo "metalwright: $*"; }

stop_here() {
    while :; do
        say "$*; this machine does nothing more until it is restarted"
        sleep 60
    done
}

argument() { # value of NAME= on the kernel command line
    for word in $(cat /proc/cmdline); do
        case $word in "$1="*) echo "${word#*=}" ;; esac
    done
}

load_modules() { # twice, because a bus driver shows new devices
    for _ in 1 2; do
        find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -a -q 2>/dev/null
    done
}

interfaces() { # the one that booted if the boot loader named it, else all
    wanted=$(argument BOOTIF | sed 's/^01-//; s/-/:/g' | tr A-F a-f)
    for path in /sys/class/net/*; do
        name=${path##*/}
        [ "$name" = lo ] && continue
        if [ -z "$wanted" ] || [ "$(cat "$path/address")" = "$wanted" ]; then echo "$name"; fi
    done
}

get_address() {
    for name in $(interfaces); do
        ip link set "$name" up
        if udhcpc -i "$name" -n -q -t 5 -T 2 -s /udhcpc.sh; then return 0; fi
        say "no DHCP answer on $name ($(cat "/sys/class/net/$name/address"))"
    done
    return 1
}

mount -t devtmpfs -o mode=0755,nosuid dev /dev
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sys /sys
mount -t tmpfs -o mode=0755,nosuid,nodev run /run
mount -t tmpfs -o mode=1777,nosuid,nodev tmp /tmp
say "RAM disk $(cat /ramdisk-digest), kernel $(uname -r)"
load_modules
ip link set lo up
tries=0
until get_address; do
    tries=$((tries + 1))
    [ -n "$(interfaces)" ] || say "no network interface: is its driver in this RAM disk?"
    [ "$tries" -lt 20 ] || stop_here "no address after $tries tries"
    sleep 2
done
say "address $(ip -4 -o addr show scope global | awk '{print $4}' | tr '\n' ' ')"
python3 -I -S -m metalwright.agent.main
stop_here "the agent ended with exit code $?"

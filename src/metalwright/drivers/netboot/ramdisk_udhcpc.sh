#!/bin/busybox sh
# What udhcpc calls with a lease: address, default route, name servers. Nothing else of a lease is used.
export PATH=/usr/bin:/usr/sbin
case $1 in
    deconfig) ip addr flush dev "$interface" ;;
    bound | renew)
        ip addr replace "$ip/${mask:-24}" dev "$interface"
        for gateway in $router; do ip route replace default via "$gateway" dev "$interface" && break; done
        for server in $dns; do echo "nameserver $server"; done > /etc/resolv.conf
        ;;
esac

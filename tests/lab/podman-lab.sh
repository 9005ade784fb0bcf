#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real podman, also where both versions of cgroups are mounted, a mixture that its crun refuses: without the second
# one, in a mount namespace of its own.
mountpoint -q /sys/fs/cgroup/unified || exec /usr/bin/podman "$@"
exec unshare --mount sh -c 'umount /sys/fs/cgroup/unified && exec /usr/bin/podman "$@"' sh "$@"

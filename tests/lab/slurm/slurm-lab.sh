#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Slurm with several nodes on one machine: no systemd, no cgroups, nothing in /etc; as root or as a user.
#   slurm-lab.sh start|stop|status|env
# Variables: LAB (its directory), NODES, CPUS (of each), PORT0 (PORT0 … PORT0+400 are used),
# ACCT=1 (slurmdbd on a MariaDB of its own, so that sacct works), CLEAN=1 (forget the jobs of before).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
LAB=${LAB:-${TMPDIR:-/tmp}/slurm-lab}
NODES=${NODES:-4}
CPUS=${CPUS:-4}
PORT0=${PORT0:-17000}
host=$(hostname -s)
me=$(id -un)
export SLURM_CONF=$LAB/slurm.conf

running() {  # is the process alive whose number is in this file?
  [ -f "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null
}

wait_for() {  # SECONDS COMMAND…
  local patience=$(($1 * 10)); shift
  for _ in $(seq 1 "$patience"); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
  return 1
}

configure() {
  mkdir -p "$LAB"/{state,log,munge}
  for i in $(seq 1 "$NODES"); do mkdir -p "$LAB/spool/node$i" "$LAB/tmp/node$i"; done
  chmod 755 "$LAB" "$LAB/munge"  # munged refuses anything looser, and for the key anything but 0600
  [ -f "$LAB/munge/key" ] || (umask 077; head -c 128 /dev/urandom > "$LAB/munge/key")
  sed -e "s|@LAB@|$LAB|g" -e "s|@HOST@|$host|g" -e "s|@ME@|$me|g" -e "s|@NODES@|$NODES|g" -e "s|@CPUS@|$CPUS|g" \
      -e "s|@CTLPORT@|$PORT0|g" -e "s|@NODEPORTS@|$((PORT0 + 1))-$((PORT0 + NODES))|g" \
      -e "s|@SRUNPORTS@|$((PORT0 + 100))-$((PORT0 + 400))|g" "$here/slurm.conf.in" > "$SLURM_CONF"
  : > "$LAB/plugstack.conf"
  # GPUs that are none: they only set CUDA_VISIBLE_DEVICES.
  echo "NodeName=node[1-$NODES] Name=gpu File=/dev/tty[0-1]" > "$LAB/gres.conf"
  [ -z "${ACCT:-}" ] || configure_accounting
}

configure_accounting() {
  cat >> "$SLURM_CONF" <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$((PORT0 + 90))
AccountingStoragePass=$LAB/munge/sock
JobAcctGatherType=jobacct_gather/linux
END
  sed -i '/_storage\/none$/d; /jobacct_gather\/none$/d' "$SLURM_CONF"
  (umask 077; cat > "$LAB/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$LAB/munge/sock
DbdHost=localhost
DbdPort=$((PORT0 + 90))
SlurmUser=$me
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=$me
StorageLoc=slurm_acct_db
PidFile=$LAB/slurmdbd.pid
LogFile=$LAB/log/slurmdbd.log
END
  )
}

start_accounting() {
  if [ ! -d "$LAB/db/data" ]; then
    mkdir -p "$LAB/db"
    mariadb-install-db --no-defaults --datadir="$LAB/db/data" --user="$me" \
      --auth-root-authentication-method=socket > "$LAB/log/mariadb.log" 2>&1
  fi
  if ! running "$LAB/db/pid"; then
    mariadbd --no-defaults --datadir="$LAB/db/data" --socket="$LAB/db/sock" --pid-file="$LAB/db/pid" \
      --skip-networking --user="$me" --innodb-buffer-pool-size=64M >> "$LAB/log/mariadb.log" 2>&1 &
    wait_for 10 test -S "$LAB/db/sock"
  fi
  export MYSQL_UNIX_PORT="$LAB/db/sock"
  running "$LAB/slurmdbd.pid" || slurmdbd
  wait_for 10 sacctmgr -n show cluster
  [ -n "$(sacctmgr -n show cluster lab)" ] || sacctmgr -i add cluster lab > /dev/null
}

all_idle() {
  [ "$(sinfo -h -N -p debug -t idle -o %N | wc -l)" -ge "$NODES" ]
}

start() {
  configure
  running "$LAB/munge/pid" || munged --force --key-file="$LAB/munge/key" --socket="$LAB/munge/sock" \
    --pid-file="$LAB/munge/pid" --log-file="$LAB/munge/log" --seed-file="$LAB/munge/seed"
  [ -z "${ACCT:-}" ] || start_accounting
  running "$LAB/slurmctld.pid" || slurmctld -f "$SLURM_CONF" ${CLEAN:+-c}
  for i in $(seq 1 "$NODES"); do
    running "$LAB/slurmd.node$i.pid" || slurmd -f "$SLURM_CONF" -N "node$i"
  done
  wait_for 20 all_idle || { echo "nodes did not become idle; see $LAB/log" >&2; sinfo -R; return 1; }
}

stop() {
  timeout 5 scancel -u "$me" 2>/dev/null || true
  local pids=""
  for file in "$LAB"/slurmd.node*.pid "$LAB/slurmctld.pid" "$LAB/slurmdbd.pid" "$LAB/db/pid" "$LAB/munge/pid"; do
    running "$file" && pids="$pids $(cat "$file")"
    rm -f "$file"
  done
  [ -n "$pids" ] || return 0
  kill $pids 2>/dev/null || true
  for _ in $(seq 1 50); do kill -0 $pids 2>/dev/null || break; sleep 0.1; done
  kill -9 $pids 2>/dev/null || true
}

case "${1:-}" in
  start|stop) "$1" ;;
  status) sinfo; squeue ;;
  env) echo "export SLURM_CONF=$SLURM_CONF" ;;
  *) echo "usage: $0 start|stop|status|env" >&2; exit 2 ;;
esac

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command while every core has two other things to do.
for _ in $(seq $((2 * $(nproc)))); do
  sh -c 'while :; do :; done' &
  busy="$busy $!"
done
trap 'kill $busy' EXIT
"$@"

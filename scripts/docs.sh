#!/usr/bin/env bash
# Builds the documentation site into build/site, with an API reference of every public header. Fails on warnings, on
# broken links, on public names without a comment, and if the search does not find what people ask for.
#
# Usage: scripts/docs.sh
#
# Installs what is missing: Doxygen from the distribution, and the Python packages of docs/requirements.txt into
# .venv-docs. To look at the site: python3 -m http.server -d build/site, then http://localhost:8000.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v doxygen >/dev/null; then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y \
    --no-install-recommends doxygen >/dev/null || {
    echo "docs: install doxygen" >&2
    exit 1
  }
fi
if ! cmp -s docs/requirements.txt .venv-docs/requirements.txt; then
  echo "docs: installing the packages of docs/requirements.txt into .venv-docs"
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import ensurepip' >/dev/null 2>&1 && break
  done
  rm -rf .venv-docs
  "$python" -m venv .venv-docs
  .venv-docs/bin/pip --disable-pip-version-check --quiet install -r docs/requirements.txt
  cp docs/requirements.txt .venv-docs/
fi

source=build/site-source
rm -rf $source build/site
mkdir -p $source/api build/site
{
  cat docs/Doxyfile
  echo "OUTPUT_DIRECTORY = build/site-xml"
} >build/site-Doxyfile
rm -rf build/site-xml
mkdir -p build/site-xml
doxygen build/site-Doxyfile >/dev/null 2>&1

failed=0
.venv-docs/bin/python scripts/docs_api.py build/site-xml/xml $source/api || failed=1
.venv-docs/bin/python scripts/docs_site.py $source || failed=1
.venv-docs/bin/sphinx-build -q -W --keep-going -c docs -d build/site-doctrees $source build/site || failed=1
cp -r docs/pictures build/site/
.venv-docs/bin/python scripts/docs_links.py build/site || failed=1
.venv-docs/bin/python scripts/docs_search.py build/site || failed=1
if ((failed)); then
  echo "docs: failed" >&2
  exit 1
fi
echo "docs: build/site/index.html"

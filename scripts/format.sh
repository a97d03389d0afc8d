#!/usr/bin/env bash
# Formats the C++ and CUDA sources with clang-format 14 (Debian 12's); other versions differ in details.
#
# Usage: scripts/format.sh            rewrites files that are not formatted
#        scripts/format.sh --check    lists them and exits 1
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(command -v clang-format-14 || command -v clang-format) || {
  echo "format: no clang-format; run scripts/setup.sh" >&2
  exit 1
}
files=()
while IFS= read -r -d '' file; do
  [[ -f $file ]] && files+=("$file")
done < <(git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh')
((${#files[@]})) || exit 0

if [[ ${1:-} == --check ]]; then
  unformatted=0
  for file in "${files[@]}"; do
    if ! "$tool" --dry-run -Werror "$file" >/dev/null 2>&1; then
      echo "not formatted: $file"
      unformatted=$((unformatted + 1))
    fi
  done
  echo "format: ${#files[@]} files, $unformatted not formatted"
  ((unformatted == 0)) || { echo "format: run scripts/format.sh ($("$tool" --version))" && exit 1; }
else
  "$tool" -i "${files[@]}"
fi

#!/usr/bin/env bash
# Builds the site of the documentation, build/docs/html/index.html, and checks its links.
#
# Only tenon/tenon.h and what it includes is described: what a user can include is what a user is meant to.
set -euo pipefail
cd "$(dirname "$0")/.."

headers=(tenon/tenon.h)
declare -A seen=([tenon/tenon.h]=1)
for ((i = 0; i < ${#headers[@]}; ++i)); do
  while read -r header; do
    [[ -n ${seen[$header]:-} ]] || { seen[$header]=1; headers+=("$header"); }
  done < <(sed -nE 's/^ *# *include *["<](tenon\/[^">]+)[">].*/\1/p' "${headers[i]}")
done
pages=(README.md docs/guide/README.md docs/README.md docs/guide/{start,tensors,autograd,modules,optimizers,data,compile,devices,saving}.md
  docs/guide/{transformer,python,debugging,performance,mathematics}.md docs/tutorials/*.md docs/[!R]*.md CONTRIBUTING.md CHANGELOG.md)

mkdir -p build/docs
rm -rf build/docs/html
version=$(sed -nE 's/^project\(tenon VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
{
  cat docs/site/Doxyfile
  echo "INPUT = ${pages[*]} ${headers[*]}"
  echo "OUTPUT_DIRECTORY = build/docs"
  echo "PROJECT_NUMBER = $version"
  echo "USE_MDFILE_AS_MAINPAGE = $PWD/README.md"  # the whole path, because the guide has a README.md too
} >build/docs/Doxyfile
doxygen build/docs/Doxyfile 2>build/docs/warnings.log || { cat build/docs/warnings.log >&2; exit 1; }
cat build/docs/warnings.log >&2
scripts/check_links.py --site build/docs/html
echo "build/docs/html/index.html"

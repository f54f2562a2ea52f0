#!/usr/bin/env bash
# Builds the site of the documentation, build/docs/html/index.html, and checks its links.
#
# What users are meant to call is described: the headers of scripts/make_reference.py, without what it hides. Headers that
# tenon/tenon.h includes because others need them are no part of the site.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t headers < <(scripts/make_reference.py --headers)
pages=(README.md docs/guide/README.md docs/README.md docs/guide/{start,tensors,autograd,modules,optimizers,data,compile,devices,saving}.md
  docs/guide/{transformer,python,debugging,performance,mathematics}.md docs/tutorials/*.md docs/reference/README.md docs/reference/[!R]*.md docs/[!R]*.md docs/internals/*.md CONTRIBUTING.md CHANGELOG.md)

mkdir -p build/docs
rm -rf build/docs/html
version=$(sed -nE 's/^project\(tenon VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
{
  cat docs/site/Doxyfile
  echo "INPUT = ${pages[*]} ${headers[*]}"
  echo "EXCLUDE_SYMBOLS = $(scripts/make_reference.py --hidden | tr '\n' ' ')"
  echo "OUTPUT_DIRECTORY = build/docs"
  echo "PROJECT_NUMBER = $version"
  echo "USE_MDFILE_AS_MAINPAGE = $PWD/README.md"  # the whole path, because the guide has a README.md too
} >build/docs/Doxyfile
doxygen build/docs/Doxyfile 2>build/docs/warnings.log || { cat build/docs/warnings.log >&2; exit 1; }
cat build/docs/warnings.log >&2
scripts/check_links.py --site build/docs/html
echo "build/docs/html/index.html"

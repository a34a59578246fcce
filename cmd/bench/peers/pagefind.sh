# Indexes and searches documents with pagefind in folder $1: JSON on stdin, slugs on stdout.
set -e
. "$(dirname "$0")/apt.sh"
need node nodejs
need npm npm
npm install --prefix "$1" --ignore-scripts --no-audit --no-fund pagefind@1.6.0 >&2
cp "$(dirname "$0")/pagefind.mjs" "$1"
exec node "$1/pagefind.mjs"

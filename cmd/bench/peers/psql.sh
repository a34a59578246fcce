# Runs psql with the given arguments.
set -e
. "$(dirname "$0")/apt.sh"
need psql postgresql-client
[ "$1" = install ] && exit
exec psql -X -q -v ON_ERROR_STOP=1 "$@"

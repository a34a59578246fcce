# Runs ab, the load generator of Apache, with the given arguments.
set -e
. "$(dirname "$0")/apt.sh"
need ab apache2-utils
[ "$1" = install ] && exit
exec ab "$@"

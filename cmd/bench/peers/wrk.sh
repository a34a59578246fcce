# Runs wrk with the given arguments.
set -e
. "$(dirname "$0")/apt.sh"
need wrk wrk
[ "$1" = install ] && exit
exec wrk "$@"

# Runs hugo, a site generator, on a folder with a site, and writes its pages to another folder.
set -e
. "$(dirname "$0")/apt.sh"
hugo=$(compiled github.com/gohugoio/hugo v0.160.0)
[ "$1" = install ] && exit
exec "$hugo" --source "$1" --destination "$2" --quiet --noBuildLock --cacheDir "$1/cache"

# Runs MinIO on an address with its data in a folder.
set -e
. "$(dirname "$0")/apt.sh"
minio=$(compiled github.com/minio/minio v0.0.0-20260212201848-7aac2a2c5b7c)
[ "$1" = install ] && exit
export MINIO_ROOT_USER="$AWS_ACCESS_KEY_ID" MINIO_ROOT_PASSWORD="$AWS_SECRET_ACCESS_KEY"
export MINIO_BROWSER=off MINIO_UPDATE=off
exec "$minio" server --quiet --address "$1" --console-address 127.0.0.1:0 "$2"

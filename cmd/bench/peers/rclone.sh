# Copies with rclone, 64 transfers at a time, to a MinIO that needs no checks: the command, the tree, the bucket.
set -e
. "$(dirname "$0")/apt.sh"
need rclone rclone
[ "$1" = install ] && exit
export RCLONE_CONFIG=/dev/null RCLONE_CONFIG_BENCH_TYPE=s3 RCLONE_CONFIG_BENCH_PROVIDER=Minio
export RCLONE_CONFIG_BENCH_ENDPOINT="$AWS_ENDPOINT_URL" RCLONE_CONFIG_BENCH_ACCESS_KEY_ID="$AWS_ACCESS_KEY_ID"
export RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY="$AWS_SECRET_ACCESS_KEY"
exec rclone "$@" --s3-no-head --s3-no-check-bucket --transfers 64 --checkers 64

package publish

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"tollbook/cmd/bench/harness"
)

// theirs copies both trees to an empty bucket with rclone, and returns the files a second of the first.
func (b *bench) theirs(ctx context.Context) (float64, error) {
	to, err := b.store.bucket(ctx)
	if err != nil {
		return 0, err
	}
	remote := strings.Replace(to, "s3://", "bench:", 1)
	env := []string{"RCLONE_CONFIG=" + os.DevNull, "RCLONE_CONFIG_BENCH_TYPE=s3", "RCLONE_CONFIG_BENCH_PROVIDER=Minio",
		"RCLONE_CONFIG_BENCH_ENDPOINT=http://" + b.store.endpoint, "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID=" + key,
		"RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY=" + secret}
	var first float64
	for i, args := range [][]string{
		{"copy", "--no-check-dest", "--s3-no-head", "--s3-no-check-bucket"},
		{"sync", "--checksum", "--fast-list", "--s3-no-head", "--s3-no-check-bucket"},
	} {
		args = append(args, "--transfers", "64", "--checkers", "64", b.treeOf(i)+"/", remote)
		began := time.Now()
		if err := harness.Run(ctx, env, "rclone", args...); err != nil {
			return 0, err
		}
		seconds := time.Since(began).Seconds()
		first = cmp.Or(first, seconds)
		b.took([]string{"rclone first", "rclone later"}[i], seconds)
	}
	return float64(b.tree.files) / first, b.store.check(ctx, to, b.treeOf(1))
}

// minioModule is the server that both sides publish to.
const minioModule = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"

// env returns the variables of the register and the store.
func (b *bench) env(endpoint string) []string {
	return []string{"DATABASE_URL=" + b.dsn, "AWS_ENDPOINT_URL=http://" + endpoint, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret}
}

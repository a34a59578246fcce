package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tollbook/cmd/bench/turns"
)

// theirs copies both trees to an empty bucket by rclone, and gives files a second of the first.
func (b *bench) theirs(ctx context.Context) (float64, error) {
	to, err := b.store.bucket(ctx)
	if err != nil {
		return 0, err
	}
	remote := strings.Replace(to, "s3://", "bench:", 1)
	env := []string{"RCLONE_CONFIG=" + os.DevNull, "RCLONE_CONFIG_BENCH_TYPE=s3", "RCLONE_CONFIG_BENCH_PROVIDER=Minio",
		"RCLONE_CONFIG_BENCH_ENDPOINT=http://" + b.store.endpoint, "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID=" + key, "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY=" + secret}
	var first float64
	for i, args := range [][]string{
		{"copy", "--no-check-dest", "--s3-no-head", "--s3-no-check-bucket"},
		{"sync", "--checksum", "--fast-list", "--s3-no-head", "--s3-no-check-bucket"},
	} {
		args = append(args, "--transfers", "64", "--checkers", "64", b.treeOf(i)+"/", remote)
		began := time.Now()
		if _, err := command(ctx, env, "rclone", args...); err != nil {
			return 0, err
		}
		seconds := time.Since(began).Seconds()
		first = cmp.Or(first, seconds)
		b.took([]string{"rclone first", "rclone later"}[i], seconds)
	}
	return float64(b.tree.files) / first, b.store.check(ctx, to, b.treeOf(1))
}

// minioModule is the server that both publish to.
const minioModule = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"

// installPeers brings rclone and minio where they are missing.
func installPeers(ctx context.Context) error {
	if err := turns.Install(ctx, turns.Peer{Program: "rclone", Package: "rclone"}); err != nil {
		return err
	}
	path, err := minioProgram()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		_, err = command(ctx, []string{"GOBIN=" + filepath.Dir(path)}, "go", "install", minioModule)
		return err
	}
	return nil
}

// minioProgram is where minio is, or will be.
func minioProgram() (string, error) {
	if path, err := exec.LookPath("minio"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "tollbook", "bin", "minio"), err
}

// stopTimeout is how long a process that is told to stop may take.
const stopTimeout = 10 * time.Second

// program is a command that is told to stop when its context ends. Of the environment it gets nothing that names a bucket.
func program(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "TOLLBOOK_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// command runs a program to its end.
func command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := program(ctx, env, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &out)
	}
	return out.String(), nil
}

// env is what ours needs to know of register and store.
func (b *bench) env(endpoint string) []string {
	return []string{"DATABASE_URL=" + b.dsn, "AWS_ENDPOINT_URL=http://" + endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret}
}

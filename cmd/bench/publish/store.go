package publish

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tollbook/cmd/bench/harness"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const key, secret = "benchkey", "benchsecret"

// store is a MinIO server with one folder.
type store struct {
	endpoint string
	client   *minio.Client
	cmd      *exec.Cmd
	buckets  int
}

func startStore(ctx context.Context, program, dir string) (*store, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &store{endpoint: l.Addr().String()}
	l.Close()
	env := []string{"MINIO_ROOT_USER=" + key, "MINIO_ROOT_PASSWORD=" + secret, "MINIO_BROWSER=off", "MINIO_UPDATE=off"}
	s.cmd = harness.Program(ctx, env, program, "server", "--quiet", "--address", s.endpoint, "--console-address",
		"127.0.0.1:0", dir)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.client, err = minio.New(s.endpoint, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""),
		Region: "us-east-1", MaxRetries: 1}); err != nil {
		s.end()
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err = s.client.ListBuckets(ctx); err == nil {
			return s, nil
		}
		if time.Since(began) > time.Minute || ctx.Err() != nil {
			s.end()
			return nil, fmt.Errorf("MinIO does not answer: %w", err)
		}
	}
}

func (s *store) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// bucket creates an empty bucket and removes the previous one.
func (s *store) bucket(ctx context.Context) (string, error) {
	if s.buckets > 0 {
		if err := s.client.RemoveBucketWithOptions(ctx, fmt.Sprintf("bench-%d", s.buckets),
			minio.RemoveBucketOptions{ForceDelete: true}); err != nil {
			return "", err
		}
	}
	s.buckets++
	name := fmt.Sprintf("bench-%d", s.buckets)
	return "s3://" + name + "/site", s.client.MakeBucket(ctx, name, minio.MakeBucketOptions{})
}

// checked is the number of files of a tree that are compared with a bucket.
const checked = 500

// check compares objects of a place with files of a tree, chosen from all of it.
func (s *store) check(ctx context.Context, at, tree string) error {
	var names []string
	err := filepath.WalkDir(tree, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(path, tree+"/"))
		}
		return err
	})
	if err != nil {
		return err
	}
	name, prefix, _ := strings.Cut(strings.TrimPrefix(at, "s3://"), "/")
	for i := 0; i < len(names); i += 1 + len(names)/checked {
		want, err := os.ReadFile(filepath.Join(tree, names[i]))
		if err != nil {
			return err
		}
		got, err := s.read(ctx, name, prefix+"/"+names[i])
		if err != nil {
			return fmt.Errorf("check %s: %w", names[i], err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("check %s: the bytes in the bucket differ", names[i])
		}
	}
	return nil
}

// read returns the unpacked content of an object, as a reader gets it.
func (s *store) read(ctx context.Context, bucket, key string) ([]byte, error) {
	core := minio.Core{Client: s.client}
	var opts minio.GetObjectOptions
	opts.Set("Accept-Encoding", "gzip")
	body, _, header, err := core.GetObject(ctx, bucket, key, opts)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r io.Reader = body
	if header.Get("Content-Encoding") == "gzip" {
		if r, err = gzip.NewReader(body); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(r)
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const storeKey, storeSecret = "benchkey", "benchsecret"

// store is a MinIO server with one folder.
type store struct {
	*server
	client  *minio.Client
	buckets int
}

func startStore(ctx context.Context, dir string) (*store, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &store{server: &server{address: address}}
	if s.server, _, err = startServer(ctx, peer(ctx, s.env(), "minio.sh", address, dir), address,
		"/minio/health/ready"); err != nil {
		return nil, err
	}
	if s.client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(storeKey, storeSecret, ""),
		Region: "us-east-1", MaxRetries: 3}); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// env returns the variables by which programs find the store.
func (s *store) env() []string {
	return []string{"AWS_ENDPOINT_URL=http://" + s.address, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + storeKey,
		"AWS_SECRET_ACCESS_KEY=" + storeSecret}
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

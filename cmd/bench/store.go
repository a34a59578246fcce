package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// store is a MinIO server with its data in memory.
type store struct {
	env     []string // by which programs find it
	client  *minio.Client
	bench   *bench
	buckets int
}

func (b *bench) startStore() *store {
	const key, secret = "benchkey", "benchsecret"
	address := freeAddress()
	s := &store{bench: b, env: []string{"AWS_ENDPOINT_URL=http://" + address, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret}}
	b.start(b.peer(s.env, "minio.sh", address, b.path("minio")), address, "/minio/health/ready")
	s.client = must(minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""),
		Region: "us-east-1", MaxRetries: 3}))
	return s
}

// bucket creates an empty bucket and removes the previous one. It returns a place in it.
func (s *store) bucket() string {
	name := func() string { return fmt.Sprint("bench-", s.buckets) }
	if s.buckets > 0 {
		check(s.client.RemoveBucketWithOptions(s.bench.ctx, name(), minio.RemoveBucketOptions{ForceDelete: true}))
	}
	s.buckets++
	check(s.client.MakeBucket(s.bench.ctx, name(), minio.MakeBucketOptions{}))
	return "s3://" + name() + "/site"
}

// compare compares some 500 objects of a place with the files of a tree.
func (s *store) compare(place, tree string, files []string) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(place, "s3://"), "/")
	core := minio.Core{Client: s.client}
	for i := 0; i < len(files); i += 1 + len(files)/500 {
		var o minio.GetObjectOptions
		o.Set("Accept-Encoding", "gzip") // as readers get it
		body, _, header, err := core.GetObject(s.bench.ctx, bucket, prefix+"/"+files[i], o)
		check(err)
		got := must(io.ReadAll(body))
		check(body.Close())
		if header.Get("Content-Encoding") == "gzip" {
			got = gunzip(bytes.NewReader(got))
		}
		if !bytes.Equal(got, must(os.ReadFile(filepath.Join(tree, files[i])))) {
			failf("%s differs in the bucket", files[i])
		}
	}
}

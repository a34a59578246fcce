// Package outputtest starts real servers that speak S3, for tests: Versity's gateway, which is small and strict, and
// MinIO.
//
// It looks for their programs on PATH and in the folder tollbook/bin of the user's cache, where .ci/run installs them.
// A test without its program is skipped; with CI=true it fails. Data is stored on /dev/shm if that exists. The package
// knows nothing of what is stored.
package outputtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tollbook/site/testgate"
)

// The account on every server, with all permissions.
const (
	accessKey = "testkey"
	secretKey = "testsecret"
)

// Server is a running server. It is killed when the test ends.
type Server struct {
	Address string // host:port on loopback, plain http
	Dir     string // the folder of its data
	buckets atomic.Int64
}

// Versity starts a gateway over a folder. It rejects an object whose name is the folder of another one.
func Versity(t testing.TB) *Server {
	t.Helper()
	program := findProgram(t, "versitygw", "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	return start(t, []string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey},
		func(address, dir string) *exec.Cmd {
			return exec.Command(program, "--quiet", "--port", address, "posix", dir)
		})
}

// MinIO starts a server over one folder.
func MinIO(t testing.TB) *Server {
	t.Helper()
	testgate.All(t)
	program := findProgram(t, "minio", "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c")
	env := []string{"MINIO_ROOT_USER=" + accessKey, "MINIO_ROOT_PASSWORD=" + secretKey, "MINIO_BROWSER=off",
		"MINIO_UPDATE=off"}
	return start(t, env, func(address, dir string) *exec.Cmd {
		return exec.Command(program, "server", "--quiet", "--address", address, "--console-address", "127.0.0.1:0", dir)
	})
}

// findProgram returns the path of a program.
func findProgram(t testing.TB, name, module string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(cache, "tollbook", "bin")
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	testgate.Missing(t, "%s is missing; GOBIN=%s go install %s", name, bin, module)
	return ""
}

func start(t testing.TB, env []string, command func(address, dir string) *exec.Cmd) *Server {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "tollbook-s3-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// Another program may take the free port before the server does.
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Address: l.Addr().String(), Dir: dir}
		l.Close()
		cmd := command(s.Address, dir)
		cmd.Env = append(os.Environ(), env...)
		if said, ok := s.run(t, cmd); ok {
			return s
		} else if !strings.Contains(said, "already in use") {
			t.Fatalf("%s ended: %s", cmd.Path, said)
		}
	}
}

// run waits until the server answers or has ended.
func (s *Server) run(t testing.TB, cmd *exec.Cmd) (said string, ok bool) {
	t.Helper()
	var all output
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the process is killed, so an error is expected
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.After(3 * time.Minute); ; {
		if _, err := s.client(t).ListBuckets(t.Context()); err == nil {
			return "", true
		}
		select {
		case <-ended:
			return all.String(), false
		case <-deadline:
			t.Fatalf("%s does not answer: %s", cmd.Path, &all)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) client(t testing.TB) *minio.Client {
	t.Helper()
	c, err := minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""),
		Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Bucket creates a bucket and returns the address of a folder in it.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	if err := s.client(t).MakeBucket(context.Background(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return "s3://" + name + "/some/where"
}

// Share lets everybody read the bucket of an address that Bucket returned. It returns the bucket's URL.
func (s *Server) Share(t testing.TB, address string) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(address, "s3://"), "/")
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[
{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket","Resource":"arn:aws:s3:::%[1]s"},
{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::%[1]s/*"}]}`, name)
	if err := s.client(t).SetBucketPolicy(context.Background(), name, policy); err != nil {
		t.Fatal(err)
	}
	return "http://" + s.Address + "/" + name
}

// Env returns the environment that a program needs to use the server at address, which may be that of a proxy.
func (s *Server) Env(address string) []string {
	return []string{
		"AWS_ENDPOINT_URL=http://" + address, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + accessKey,
		"AWS_SECRET_ACCESS_KEY=" + secretKey,
		"AWS_SESSION_TOKEN=",
	}
}

// Getenv returns a variable of the server's environment.
func (s *Server) Getenv(name string) string { return Getenv(s.Env(s.Address))(name) }

// Getenv returns a function that looks up a variable in env, a list in the form of os.Environ.
func Getenv(env []string) func(string) string {
	return func(name string) string {
		for _, e := range env {
			if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
				return e[len(name)+1:]
			}
		}
		return ""
	}
}

// output collects the output of a server, for a test that fails.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

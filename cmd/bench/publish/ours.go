package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/output"
)

// publish publishes the ith snapshot with the tollbook command. It returns the time and the processor time.
func (b *bench) publish(ctx context.Context, endpoint, to, expand string, i int) (seconds, processor float64,
	err error) {
	if err := b.point(i); err != nil {
		return 0, 0, err
	}
	cmd := harness.Program(ctx, b.env(endpoint), b.program, "publish", "--data", b.data(), "--publish-to", to,
		"--expand",
		expand,
		"--json")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("publish: %w\n%s", err, &said)
	}
	seconds = time.Since(began).Seconds()
	var r output.Published
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return 0, 0, fmt.Errorf("publish: %w", err)
	}
	if n := r.Written + r.Unchanged; !r.Moved || r.Checkpoint.Snapshot != b.tree.ids[i] ||
		expand == "all" && i == 1 && n != b.tree.files {
		return 0, 0, fmt.Errorf("publish --expand %s sent other files: %s", expand, &out)
	}
	return seconds, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// ours publishes both snapshots to an empty bucket, serves them from it, and returns the files a second of the first.
func (b *bench) ours(expand string) harness.Side {
	return func(ctx context.Context) (float64, error) {
		to, err := b.store.bucket(ctx)
		if err != nil {
			return 0, err
		}
		first, processor, err := b.publish(ctx, b.store.endpoint, to, expand, 0)
		if err != nil {
			return 0, err
		}
		b.took(expand+" first", first)
		if expand == "none" {
			b.took("processor", processor)
		}
		if err := b.serveLater(ctx, to, expand); err != nil {
			return 0, err
		}
		if expand == "all" {
			err = b.store.check(ctx, to, b.treeOf(1))
		}
		return float64(b.tree.files) / first, err
	}
}

// serveLater publishes the second snapshot while a serve on the bucket answers readers.
func (b *bench) serveLater(ctx context.Context, to, expand string) error {
	s, opened, err := b.serve(ctx, to)
	if err != nil {
		return err
	}
	defer s.stop()
	b.took("open from the bucket", opened)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan float64, 1)
	began := time.Now()
	go func() {
		for ctx.Err() == nil {
			if id, err := s.snapshot(ctx); err == nil && id == b.tree.ids[1] {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		seen <- time.Since(began).Seconds()
	}()
	later, _, err := b.publish(ctx, b.store.endpoint, to, expand, 1)
	if err != nil {
		return err
	}
	b.took(expand+" later", later)
	b.took("until a reader has it, "+expand, <-seen)
	if expand != "none" {
		return nil
	}
	if err := s.walk(ctx); err != nil {
		return err
	}
	for field, name := range map[string]string{"VmRSS": "resident", "VmHWM": "most"} {
		mb, err := s.memory(field)
		if err != nil {
			return err
		}
		b.memory[name] = append(b.memory[name], mb)
		log.Printf("%-30s %8.0f MB", "memory of serve, "+name, mb)
	}
	return nil
}

// server is a running tollbook serve.
type server struct {
	cmd  *exec.Cmd
	base string
}

// serve starts a server and returns the time until it was ready.
func (b *bench) serve(ctx context.Context, from string) (*server, float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	address := l.Addr().String()
	l.Close()
	s := &server{cmd: harness.Program(ctx, b.env(b.store.endpoint), b.program, "serve", "--from", from,
		"--serve-listen",
		address, "--serve-rate-limit", "0"), base: "http://" + address}
	s.cmd.Stderr = os.Stderr
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for {
		if _, err = s.snapshot(ctx); err == nil {
			return s, time.Since(began).Seconds(), nil
		}
		if time.Since(began) > time.Minute || ctx.Err() != nil {
			s.stop()
			return nil, 0, fmt.Errorf("serve %s is not ready: %w", from, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// snapshot returns the id of the snapshot that the server answers from.
func (s *server) snapshot(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.base+"/v1/stats", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	res.Body.Close()
	if id := res.Header.Get("X-Snapshot"); res.StatusCode == http.StatusOK && id != "" {
		return id, nil
	}
	return "", fmt.Errorf("status %d", res.StatusCode)
}

// walk reads every page of the list and the records of one service in ten, without a cache.
func (s *server) walk(ctx context.Context) error {
	var page struct {
		Data []struct{ Slug string }
		Meta struct{ Total int }
	}
	for n := 1; n == 1 || (n-1)*100 < page.Meta.Total; n++ {
		data, err := s.get(ctx, fmt.Sprintf("/v1/services?per_page=100&page=%d", n))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for i := 0; i < len(page.Data); i += 10 {
			slug := page.Data[i].Slug
			for _, path := range []string{"/v1/services/" + slug, "/v1/services/" + slug + "/checks",
				"/services/" + slug} {
				if _, err := s.get(ctx, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: status %d", path, res.StatusCode)
	}
	return data, err
}

// memory returns a memory figure of the process in MB.
func (s *server) memory(field string) (float64, error) { return usage.Memory(s.cmd.Process.Pid, field) }

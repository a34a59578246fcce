//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/site/postgres/postgrestest"
)

// loadVariable is how long TestLoad lasts.
const loadVariable = "TOLLBOOK_TEST_LOAD"

// sumsBySnapshot are the sums of the snapshots that answers named, read once each.
type sumsBySnapshot struct {
	base string
	mu   sync.Mutex
	of   map[string]map[string]string
}

func (s *sumsBySnapshot) read(c *http.Client, id string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sums := s.of[id]; sums != nil {
		return sums, nil
	}
	res, err := c.Get(s.base + "/SHA256SUMS?snapshot=" + id)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("sums of %s: %d, %v", id, res.StatusCode, err)
	}
	s.of[id] = readSums(string(data))
	return s.of[id], nil
}

// TestLoad asks a server as fast as a few clients can while one snapshot replaces another, and holds every body to the sums of
// the snapshot that its answer names. It prints how long answers took, and what the server took of memory.
func TestLoad(t *testing.T) {
	lasts := 5 * time.Second
	if d, err := time.ParseDuration(os.Getenv(loadVariable)); err == nil {
		lasts = d
	}
	dsn := postgrestest.NewDatabase(t)
	env, data := []string{"DATABASE_URL=" + dsn}, memoryDir(t)
	ran(t, env, "services", "import", writeFile(t, "list.json", directory(200, "d")))
	ran(t, env, "build", "--data", data)
	server := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--listen", "127.0.0.1:0", "--rate-limit", "0").start(t)
	base := strings.TrimSuffix(strings.Fields(server.await(t, "Serving "))[2], "/")

	all := &sumsBySnapshot{base: base, of: map[string]map[string]string{}}
	setup := &http.Client{Transport: &http.Transport{}}
	defer setup.CloseIdleConnections()
	first := get(t, base+"/v1/stats").header.Get("X-Snapshot")
	sums, err := all.read(setup, first)
	if err != nil {
		t.Fatal(err)
	}
	var names []string // each is its own address
	for name := range sums {
		if strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "v1/") && !strings.HasPrefix(name, "v1/search") && !strings.HasPrefix(name, "v1/lookup") {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	const clients = 4
	var stop atomic.Bool
	var wg sync.WaitGroup
	took := make([][]time.Duration, clients)
	snapshots := make([]map[string]bool, clients)
	for n := range clients {
		snapshots[n] = map[string]bool{}
		wg.Go(func() {
			c := &http.Client{Transport: &http.Transport{}, Timeout: patience}
			defer c.CloseIdleConnections()
			for !stop.Load() {
				name := names[rand.IntN(len(names))]
				address := base + "/" + (&url.URL{Path: name}).EscapedPath()
				began := time.Now()
				res, err := c.Get(address)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				took[n] = append(took[n], time.Since(began))
				id := res.Header.Get("X-Snapshot")
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("GET %s: %d, %v", address, res.StatusCode, err)
					return
				}
				sums, err := all.read(c, id)
				if err != nil {
					t.Error(err)
					return
				}
				if sumOf(body) != sums[name] {
					t.Errorf("GET %s: a body of %d bytes is not that of %s", address, len(body), id)
					return
				}
				snapshots[n][id] = true
			}
		})
	}
	peak := 0
	swaps := 0
	for end := time.Now().Add(lasts); time.Now().Before(end) || swaps == 0; {
		query(t, dsn, `UPDATE services SET description = description || '.'`)
		ran(t, env, "build", "--data", data)
		swaps++
		peak = max(peak, residentKiB(server.Process.Pid))
	}
	last := published(t, data)
	until(t, base+"/v1/stats", "the last snapshot", func(a answer) bool { return a.header.Get("X-Snapshot") == last })
	stop.Store(true)
	wg.Wait()
	every, seen := slices.Concat(took...), map[string]bool{}
	for _, s := range snapshots {
		for id := range s {
			seen[id] = true
		}
	}
	if len(every) == 0 || len(seen) < 2 {
		t.Fatalf("%d answers of %d snapshots: nothing was tested", len(every), len(seen))
	}
	slices.Sort(every)
	at := func(share float64) time.Duration { return every[int(share*float64(len(every)-1))] }
	t.Logf("%d answers to %d clients on %d processors, %d snapshots swapped in, %d seen: p50 %s, p99 %s, longest %s; the server's memory peaked at %d MiB",
		len(every), clients, runtime.NumCPU(), swaps, len(seen), at(0.5), at(0.99), at(1), peak>>10)
}

// residentKiB is the most that a process ever had in memory, 0 where that is not told.
func residentKiB(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n
}

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
	"tollbook/site/testgate"
)

// loadVariable names the duration of TestLoad.
const loadVariable = "TOLLBOOK_TEST_LOAD"

// swapEvery is the interval at which TestLoad publishes a new snapshot.
const swapEvery = 10 * time.Second

// sumsBySnapshot contains the sums of the snapshots that responses named, read once each, and the time of each first
// response.
type sumsBySnapshot struct {
	base  string
	mu    sync.Mutex
	of    map[string]map[string]string
	first map[string]time.Time
}

func (s *sumsBySnapshot) read(c *http.Client, id string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sums := s.of[id]; sums != nil {
		return sums, nil
	}
	s.first[id] = time.Now()
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

// seen waits until some client gets a response from a snapshot.
func (s *sumsBySnapshot) seen(t *testing.T, id string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		_, ok := s.first[id]
		s.mu.Unlock()
		if ok {
			return
		}
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("no client is answered from %s", id)
		}
	}
}

// loadAnswer contains the start of a request since the load began, and its duration.
type loadAnswer struct{ at, took time.Duration }

// loadClient requests the files of a snapshot, one after the other, until it is stopped.
type loadClient struct {
	all     *sumsBySnapshot
	names   []string // paths of files, which are also URL paths
	began   time.Time
	answers []loadAnswer
	bytes   int64
}

func (l *loadClient) run(stop *atomic.Bool) error {
	c := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer c.CloseIdleConnections()
	for !stop.Load() {
		name := l.names[rand.IntN(len(l.names))]
		address := l.all.base + "/" + (&url.URL{Path: name}).EscapedPath()
		begun := time.Now()
		res, err := c.Get(address)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		l.answers = append(l.answers, loadAnswer{begun.Sub(l.began), time.Since(begun)})
		l.bytes += int64(len(body))
		id := res.Header.Get("X-Snapshot")
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %d, %w", address, res.StatusCode, err)
		}
		sums, err := l.all.read(c, id)
		if err != nil {
			return err
		}
		if sumOf(body) != sums[name] {
			return fmt.Errorf("GET %s: a body of %d bytes is not that of %s", address, len(body), id)
		}
	}
	return nil
}

// TestLoad sends requests as fast as some clients can, while a new snapshot replaces another every ten seconds. It
// compares every body with the sums of the snapshot that its response names. It logs response times, in total and
// during swaps, and the memory of the server.
func TestLoad(t *testing.T) {
	testgate.All(t)
	lasts := 5 * time.Second
	if d, err := time.ParseDuration(os.Getenv(loadVariable)); err == nil {
		lasts = d
	}
	dsn := postgrestest.NewDatabase(t)
	env, data := []string{"DATABASE_URL=" + dsn}, memoryDir(t)
	ran(t, env, "services", "import", writeFile(t, "list.json", listOfServices(200, "d")))
	ran(t, env, "build", "--data", data)
	server := command(t, []string{ownCollector}, "serve", "--from", filepath.Join(data, "public"), "--serve-listen",
		"127.0.0.1:0", "--serve-rate-limit", "0").start(t)
	base := strings.TrimSuffix(strings.Fields(server.await(t, "Serving "))[2], "/")

	all := &sumsBySnapshot{base: base, of: map[string]map[string]string{}, first: map[string]time.Time{}}
	setup := &http.Client{Transport: &http.Transport{}}
	defer setup.CloseIdleConnections()
	sums, err := all.read(setup, get(t, base+"/v1/stats").header.Get("X-Snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range sums {
		if strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "v1/") &&
			!strings.HasPrefix(name, "v1/lookup") {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	clients := make([]*loadClient, max(4, 2*runtime.NumCPU()))
	began := time.Now()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range clients {
		clients[n] = &loadClient{all: all, names: names, began: began}
		wg.Go(func() {
			if err := clients[n].run(&stop); err != nil {
				t.Error(err)
			}
		})
	}
	moved := map[string]time.Time{} // when pointers moved
	var resident []int              // KiB after each swap
	tick := time.NewTicker(min(swapEvery, lasts/4))
	defer tick.Stop()
	for {
		query(t, dsn, `UPDATE services SET description = description || '.'`)
		ran(t, env, "build", "--data", data)
		pointer, err := os.Stat(filepath.Join(data, "public", "checkpoint.json"))
		if err != nil {
			t.Fatal(err)
		}
		last := published(t, data)
		moved[last] = pointer.ModTime()
		until(t, base+"/v1/stats", "the last snapshot", func(a answer) bool {
			return a.header.Get("X-Snapshot") == last
		})
		all.seen(t, last)
		resident = append(resident, memoryKiB(server.Process.Pid, "VmRSS:"))
		if time.Since(began) >= lasts {
			break
		}
		<-tick.C
	}
	stop.Store(true)
	wg.Wait()
	took := time.Since(began)
	swapping, every, bytes := all.during(clients, moved)
	if len(every) == 0 || len(all.first) < 2 {
		t.Fatalf("%d answers of %d snapshots: nothing was tested", len(every), len(all.first))
	}
	// First the cache fills, also with rows of old snapshots, until it drops the oldest.
	const filling = 30
	full := resident[min(filling, len(resident)):]
	if third := len(full) / 3; third >= 3 && mean(full[len(full)-third:]) > 5*mean(full[:third])/4 {
		t.Errorf("memory grows: KiB after each swap %v", resident)
	}
	t.Logf(
		"figures: load: %.0f s, %d clients on %d processors: %d answers, %.0f a second, %.1f MB a second, 0 "+
			"errors, 0 wrong bodies; %d snapshots swapped in, %d seen; "+
			"all: p50 %s, p99 %s, longest %s; %d asked for during swaps: p50 %s, p99 %s, longest %s; the "+
			"server's memory: %d MiB after the first swap, %d after the last, %d at most",
		took.Seconds(), len(clients), runtime.NumCPU(), len(every), float64(len(every))/took.Seconds(),
		float64(bytes)/1e6/took.Seconds(), len(moved), len(all.first),
		share(every, 0.5), share(every, 0.99), share(every, 1), len(swapping), share(swapping, 0.5),
		share(swapping, 0.99), share(swapping, 1),
		resident[0]>>10, resident[len(resident)-1]>>10, memoryKiB(server.Process.Pid, "VmHWM:")>>10)
}

// during returns the sorted durations of all responses, and of those during a swap. A swap lasts from a pointer's move
// until half a second after its snapshot's first response.
func (s *sumsBySnapshot) during(clients []*loadClient, moved map[string]time.Time) (swapping, every []time.Duration,
	bytes int64) {
	for _, c := range clients {
		var from, to []time.Duration
		for id, at := range moved {
			if first, ok := s.first[id]; ok {
				from, to = append(from, at.Sub(c.began)), append(to, first.Sub(c.began)+500*time.Millisecond)
			}
		}
		bytes += c.bytes
		for _, a := range c.answers {
			every = append(every, a.took)
			for i := range from {
				if a.at+a.took > from[i] && a.at < to[i] {
					swapping = append(swapping, a.took)
					break
				}
			}
		}
	}
	slices.Sort(swapping)
	slices.Sort(every)
	return swapping, every, bytes
}

// share returns the quantile of sorted durations, or 0 if there are none.
func share(sorted []time.Duration, of float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(of*float64(len(sorted)-1))]
}

func mean(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum / len(list)
}

// memoryKiB returns a process's memory in KiB from /proc, or 0 if it is unavailable. VmRSS is the current value, VmHWM
// the peak.
func memoryKiB(pid int, field string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field)
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n
}

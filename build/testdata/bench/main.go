// Command bench measures builds of a generated directory beside the least they could take, in turn, on one machine, with the
// files and the database in memory:
//
//	go run ./build/testdata/bench -services 20000 -runs 3
//
// What a whole build is held to is the time in which all cores compress the same files with the same library at the same
// level, and do nothing else. What a build after a visit to one service in fifteen is held to is a build of the same from
// nothing. Postgres, which has its own processes, runs on the same cores. Text goes to stderr, the figures as JSON to
// stdout.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// run is a run of TestBench of package build; times are in seconds.
type run struct {
	Services int     `json:"services"`
	Visited  int     `json:"visited"`
	Files    int     `json:"files"`
	Bytes    int64   `json:"bytes"`
	Zip      int64   `json:"zip_bytes"`
	Full     float64 `json:"full"`
	Rebuild  float64 `json:"rebuild"`
	Again    float64 `json:"again"`
	Deflate  float64 `json:"deflate"`
	CPU      float64 `json:"cpu"`
	Peak     int64   `json:"peak"`
}

// spread is what several runs gave.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func (s spread) String() string { return fmt.Sprintf("%.2f / %.2f / %.2f", s.Min, s.Median, s.Max) }

// comparison is one line of the answer: how often the peer's time ours took.
type comparison struct {
	Name  string `json:"name"`
	Peer  string `json:"peer"`
	Ours  spread `json:"ours_s"`
	Their spread `json:"peer_s"`
	Ratio spread `json:"ratio"`
}

func main() {
	log.SetFlags(0)
	services := flag.Int("services", 2000, "generated services")
	runs := flag.Int("runs", 3, "runs of each")
	cores := flag.Int("cores", runtime.GOMAXPROCS(0), "cores of the build and of its peer")
	flag.Parse()
	if err := bench(*services, *runs, *cores); err != nil {
		log.Fatal(err)
	}
}

func bench(services, count, cores int) error {
	measured, err := measure(services, count, cores)
	if err != nil {
		return err
	}
	each := func(of func(run) float64) spread { return spreadOf(measured, of) }
	lines := []comparison{
		{"a whole build", "deflating the same", each(func(r run) float64 { return r.Full }), each(func(r run) float64 { return r.Deflate }),
			each(func(r run) float64 { return r.Full / r.Deflate })},
		{"a build after 1 in 15 changed", "the same from nothing", each(func(r run) float64 { return r.Rebuild }), each(func(r run) float64 { return r.Again }),
			each(func(r run) float64 { return r.Rebuild / r.Again })},
	}
	first, peak := measured[0], each(func(r run) float64 { return float64(r.Peak) / (1 << 20) })
	log.Printf("%d services, %d files, %.0f MB, %.0f MB as a zip; %d runs on %d cores; minimum / median / maximum", first.Services, first.Files,
		float64(first.Bytes)/1e6, float64(first.Zip)/1e6, count, cores)
	for _, l := range lines {
		log.Printf("%-31s %s s; %s: %s s; ratio %s", l.Name, l.Ours, l.Peer, l.Their, l.Ratio)
	}
	log.Printf("processor time of the build itself %s s; most memory %s MiB", each(func(r run) float64 { return r.CPU }), peak)
	return json.NewEncoder(os.Stdout).Encode(struct {
		Cores       int          `json:"cores"`
		Runs        []run        `json:"runs"`
		Comparisons []comparison `json:"comparisons"`
		PeakMiB     spread       `json:"peak_mib"`
	}{cores, measured, lines, peak})
}

// measure runs the test that builds.
func measure(services, count, cores int) ([]run, error) {
	memory := os.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		memory = "/dev/shm"
	}
	dir, err := os.MkdirTemp(memory, "tollbook-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "runs.json")
	test := exec.Command("go", "test", "-count=1", "-v", "-timeout", "6h", "-cpu", strconv.Itoa(cores), "-run", "^TestBench$", "./build")
	test.Env = append(os.Environ(), "TMPDIR="+dir, "TOLLBOOK_BENCH_OUT="+out, "TOLLBOOK_BENCH_SERVICES="+strconv.Itoa(services),
		"TOLLBOOK_BENCH_RUNS="+strconv.Itoa(count))
	test.Stdout, test.Stderr = os.Stderr, os.Stderr
	if err := test.Run(); err != nil {
		return nil, fmt.Errorf("run the builds: %w", err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var runs []run
	if err := json.Unmarshal(data, &runs); err != nil || len(runs) == 0 {
		return nil, fmt.Errorf("read %d runs: %w", len(runs), cmp.Or(err, os.ErrNotExist))
	}
	return runs, nil
}

func spreadOf(runs []run, of func(run) float64) spread {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	return spread{values[0], values[len(values)/2], values[len(values)-1]}
}

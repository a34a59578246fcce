//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/report"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// floodVariable names the number of submissions of each kind that TestSubmissionFlood sends. 10000 is what an attacker
// sends in a minute.
const floodVariable = "TOLLBOOK_TEST_FLOOD"

// flood is the result of many submissions at once.
type flood struct {
	taken    []string       // IDs of accepted submissions
	statuses map[int]int    // responses by status
	refused  map[string]int // error messages of refused submissions
	took     []time.Duration
}

// sendFlood sends n submissions, each for its own domain, 64 at a time.
func sendFlood(t *testing.T, base, name string, n int, from func(i int) string) flood {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	f := flood{statuses: map[int]int{}, refused: map[string]int{}}
	var mu sync.Mutex
	one := func(i int) error {
		r, err := http.NewRequest(http.MethodPost, base+"/v1/submit",
			strings.NewReader(submission(fmt.Sprint(name, i))))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", jsonBody)
		r.Header.Set("X-Forwarded-For", from(i))
		began := time.Now()
		res, err := client.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		took := time.Since(began)
		var body struct {
			Data  site.SubmissionResult
			Error site.Error
		}
		if err := json.Unmarshal(data, &body); err != nil {
			return fmt.Errorf("%d %.200s: %w", res.StatusCode, data, err)
		}
		if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); res.StatusCode == http.StatusTooManyRequests &&
			(err != nil || seconds < 1 || body.Error.Type != site.ErrorRateLimited) {
			return fmt.Errorf("a 429 that says %s, Retry-After %q", data, res.Header.Get("Retry-After"))
		}
		mu.Lock()
		defer mu.Unlock()
		f.statuses[res.StatusCode]++
		f.took = append(f.took, took)
		if res.StatusCode == http.StatusCreated {
			f.taken = append(f.taken, body.Data.SubmissionID)
		} else {
			f.refused[body.Error.Message]++
		}
		return nil
	}
	var wg sync.WaitGroup
	numbers := make(chan int)
	for range 64 {
		wg.Go(func() {
			for i := range numbers {
				if err := one(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return f
}

// quantile returns the longest time among the fastest share of all requests.
func (f *flood) quantile(share float64) time.Duration {
	slices.Sort(f.took)
	return f.took[min(len(f.took)-1, int(share*float64(len(f.took))))].Round(100 * time.Microsecond)
}

// TestSubmissionFlood sends floods of submissions. From one address the server accepts as many as one client may send.
// From many addresses as many wait for review as may; of the others some gave way, because their services asked nobody
// for payment. Every returned ID is stored, and readers get their responses meanwhile.
func TestSubmissionFlood(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	n, most := 300, 100
	if text := os.Getenv(floodVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 300 {
			t.Fatalf("%s=%s: it is a number of submissions, 300 or more", floodVariable, text)
		}
		most = site.MaxPending
	}
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	base, server := serving(t, append(env, ownCollector), data, "--serve-trusted-proxies", "127.0.0.0/8", "--serve-max-pending",
		strconv.Itoa(most))
	var ids []string
	logFlood := func(what string, f flood, began time.Time) {
		ids = append(ids, f.taken...)
		t.Logf("figures: %s: %d submissions in %.1f s, answers %v, median %s, p99 %s; peak memory of serve %d MiB",
			what, n, time.Since(began).Seconds(), f.statuses, f.quantile(.5), f.quantile(.99),
			memoryKiB(server.Process.Pid, "VmHWM:")>>10)
	}

	began := time.Now()
	one := sendFlood(t, base, "one", n, func(int) string { return "198.51.100.1" })
	logFlood("from one address", one, began)
	if diff := gocmp.Diff(map[int]int{201: site.SubmissionsPerHour, 429: n - site.SubmissionsPerHour},
		one.statuses); diff != "" {
		t.Errorf("from one address (-want +got):\n%s", diff)
	}
	many := func(i int) string { return fmt.Sprintf("203.%d.%d.%d", i>>16, i>>8&255, i&255) }
	began = time.Now()
	f := sendFlood(t, base, "many", n, many)
	logFlood("from many", f, began)
	full := fmt.Sprintf("%d submissions wait for review already; more are taken when some are decided", most)
	stored := func(state string) (ids []string) {
		t.Helper()
		var list []report.Submission
		if err := json.Unmarshal([]byte(ran(t, env, "submissions", "list", "--state", state, "--json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids
	}
	if waiting, gone := len(stored(site.SubmissionPending)), len(stored(site.SubmissionRejected)); waiting != most ||
		waiting+gone != len(ids) || f.refused[full] != n-len(f.taken) || f.statuses[429] != n-len(f.taken) {
		t.Errorf("%d wait, %d may; %d were taken, %d gave way; refused: %v", waiting, most, len(ids), gone, f.refused)
	}
	if a := get(t, base+"/v1/stats"); a.status != 200 {
		t.Errorf("a reader meanwhile: %d", a.status)
	}
	server.interrupt(t, os.Interrupt)

	base, server = serving(t, env, data, "--serve-trusted-proxies", "127.0.0.0/8", "--serve-max-pending", "0")
	began = time.Now()
	f = sendFlood(t, base, "any", n, many2)
	logFlood("from many, any number of which may wait", f, began)
	if f.statuses[201] != n {
		t.Errorf("without a cap: %v %v", f.statuses, f.refused)
	}
	if a := get(t, base+"/v1/submissions/"+ids[len(ids)-1]); a.status != 200 {
		t.Errorf("the last that was taken: %d %s", a.status, a.body)
	}
	server.interrupt(t, os.Interrupt)

	kept := stored("all")
	slices.Sort(ids)
	slices.Sort(kept)
	if !slices.Equal(ids, kept) {
		t.Errorf("%d were taken, %d are kept", len(ids), len(kept))
	}
}

// many2 returns addresses that have not sent before.
func many2(i int) string { return fmt.Sprintf("2001:%x:%x::1", 0xd00+i>>16, i&0xffff) }

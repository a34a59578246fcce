//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestSubmissionCapsAreExact sends 200 submissions at the same moment, each on a connection of its own, to two servers
// of one database. As many wait as the cap allows: of all, of one client, of one network, and of one domain. Those that
// were taken and wait no more gave way to others.
func TestSubmissionCapsAreExact(t *testing.T) {
	t.Parallel()
	const most, each = 60, 200
	rounds := 3
	if !testgate.Everything() {
		rounds = 1
	}
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	conn := postgrestest.Connect(t, dsn)
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	start := func(most int) (servers []string) {
		for range 2 {
			base, _ := serving(t, env, data, "--serve-trusted-proxies", "127.0.0.0/8", "--serve-rate-limit", "0",
				"--serve-max-pending", strconv.Itoa(most))
			servers = append(servers, strings.TrimPrefix(base, "http://"))
		}
		return servers
	}
	capped, open := start(most), start(0)
	for round := range rounds {
		ownDomain := func(i int) string { return fmt.Sprintf("https://r%d-%d.example", round, i) }
		ownClient := func(i int) string { return fmt.Sprintf("2001:%x:%x::1", 0xd00+round, i) }
		ofNetwork := func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::1", round, i) }
		for _, c := range []struct {
			name    string
			servers []string
			url     func(i int) string
			client  func(i int) string
			want    int
		}{
			{"all that wait", capped, ownDomain, ownClient, most},
			{"one client", open, ownDomain, func(int) string { return fmt.Sprintf("198.51.100.%d", round+1) },
				site.SubmissionsPerHour},
			{"one network", open, ownDomain, ofNetwork, 4 * site.SubmissionsPerHour},
			{"one domain", open, func(i int) string { return fmt.Sprintf("https://h%d.r%d.example", i, round) },
				ownClient, site.PendingPerDomain},
		} {
			// The cases before must not count: neither as waiting, nor as of the last hour.
			if _, err := conn.Exec(t.Context(), `DELETE FROM inbox`); err != nil {
				t.Fatal(err)
			}
			requests := make([]string, each)
			for i := range requests {
				body := submission("acme", "url", strconv.Quote(c.url(i)), "endpoints", `["/a"]`)
				requests[i] = fmt.Sprintf("POST /v1/submit HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
					"Content-Type: application/json\r\nContent-Length: %d\r\nX-Forwarded-For: %s\r\n\r\n%s", len(body),
					c.client(i), body)
			}
			got := sendAtOnce(t, c.servers, requests)
			var waiting, gone int
			if err := conn.QueryRow(t.Context(), `
				SELECT count(*) FILTER (WHERE decided_at IS NULL), count(*) FILTER (WHERE reason LIKE '%gave way%')
				FROM inbox`).Scan(&waiting, &gone); err != nil || waiting != c.want || gone > 0 && c.name != "all that wait" {
				t.Errorf("round %d, %s: %d wait, want %d; %d gave way, %v", round, c.name, waiting, c.want, gone, err)
			}
			want := map[int]int{http.StatusCreated: c.want + gone, http.StatusTooManyRequests: each - c.want - gone}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("round %d, %s, responses by status (-want +got):\n%s", round, c.name, diff)
			}
		}
	}
}

// sendAtOnce sends each request on its own connection, to one server after the other, all but its last byte; then all
// last bytes at the same moment. It returns the number of responses by status.
func sendAtOnce(t *testing.T, servers, requests []string) map[int]int {
	t.Helper()
	statuses := map[int]int{}
	var mu sync.Mutex
	var opened, ended sync.WaitGroup
	opened.Add(len(requests))
	send := func(server, request string) (int, error) {
		c, err := net.DialTimeout("tcp", server, patience)
		if err == nil {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			_, err = io.WriteString(c, request[:len(request)-1])
		}
		opened.Done()
		if err != nil {
			return 0, err
		}
		opened.Wait()
		if _, err := io.WriteString(c, request[len(request)-1:]); err != nil {
			return 0, err
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		return res.StatusCode, nil
	}
	for i, request := range requests {
		ended.Go(func() {
			status, err := send(servers[i%len(servers)], request)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	ended.Wait()
	return statuses
}

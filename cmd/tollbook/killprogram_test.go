package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/private"
)

// crawl visits all services, and is killed after some visits are stored.
func (d *killedDirectory) crawl(t *testing.T, _ []string) {
	d.due(t)
	p := command(t, nil, "crawl", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap",
		"50ms").start(t)
	conn := d.join(t, p)
	if conn == nil {
		t.Fatalf("no Postgres of a crawl:\n%s", p.said())
	}
	defer conn.Close(context.Background())
	more, over := d.watch(conn)
	if rand.IntN(4) > 0 {
		select {
		case <-more:
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("no visit is kept:\n%s", p.said())
		}
	}
	soon(4 * time.Second)
	killed := time.Now()
	d.kill(t, "crawl", p, nil)
	over(killed)
}

// work visits all services, reads the chains and builds, on a separate Postgres. The worker, its Postgres or both are
// killed.
func (d *killedDirectory) work(t *testing.T, rpc []string) {
	d.due(t)
	ctx := context.Background()
	start := func() (*private.Server, *pgx.Conn) {
		s, err := private.Start(ctx, private.Options{Dir: filepath.Join(d.data, "postgres")})
		if err != nil {
			t.Fatalf("what a killed program left needs a hand: %v", err)
		}
		conn, err := pgx.Connect(ctx, s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		return s, conn
	}
	s, conn := start()
	defer func() { _ = s.Stop(ctx) }() // Postgres may have been killed
	p := command(t, []string{"DATABASE_URL=" + s.DSN()},
		append([]string{"work", "--build", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap",
			"50ms",
			"--schedule-build", "1s", "--schedule-index", "1s"}, rpc...)...).start(t)
	more, over := d.watch(conn)
	select {
	case <-more:
	case <-p.exited:
		t.Fatalf("work ended:\n%s", p.said())
	case <-time.After(patience):
		t.Fatalf("no visit is kept:\n%s", p.said())
	}
	soon(4 * time.Second)
	killed, name := time.Now(), "work"
	how := rand.IntN(3)
	if how > 0 {
		(&testServer{Server: s, dir: filepath.Join(d.data, "postgres")}).kill(t)
		name += []string{"", "'s Postgres", " and its Postgres"}[how]
	}
	if how != 1 {
		kill(t, p.Process.Pid)
	}
	over(killed)
	conn.Close(ctx)
	if how == 1 { // the worker continues as soon as it can
		_ = s.Stop(ctx) // releases the folder
		s, conn = start()
		setDue(t, conn)
		more, over := d.watch(conn)
		select {
		case <-more:
		case <-p.exited:
			t.Errorf("its Postgres was killed, and work ended:\n%s", p.said())
		case <-time.After(patience):
			t.Errorf("its Postgres was killed, and work visits nobody again:\n%s", p.said())
		}
		over(time.Now())
		conn.Close(ctx)
		kill(t, p.Process.Pid)
	}
	p.status(t)
	d.kills[name]++
}

// join connects to the Postgres of a program as soon as it accepts connections. It returns nil if the program ends
// before.
func (d *killedDirectory) join(t *testing.T, p *program) *pgx.Conn {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.exited:
			return nil
		default:
		}
		conn, err := pgx.Connect(t.Context(), "host="+filepath.Join(d.data, "postgres", "socket")+
			" user=postgres dbname="+private.Database)
		if err == nil {
			return conn
		}
	}
	return nil
}

// submit sends submissions to a server, which is killed meanwhile.
func (d *killedDirectory) submit(t *testing.T, _ []string) {
	d.servers++
	base, p := serving(t, nil, d.data, "--data", d.data, "--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit",
		"0", "--serve-max-pending", "0")
	taken := make(chan string, 10_000)
	var senders sync.WaitGroup
	for n := range 8 {
		senders.Go(func() {
			submitUntilKilled(t, base, fmt.Sprintf("n%d-%d", d.servers, n), fmt.Sprintf("2001:%x:%x", d.servers, n), taken)
		})
	}
	if rand.IntN(4) > 0 {
		select {
		case id := <-taken:
			d.submitted = append(d.submitted, id)
		case <-time.After(patience):
			t.Fatalf("no submission is taken:\n%s", p.said())
		}
	}
	soon(2 * time.Second)
	d.kill(t, "serve", p, func() {
		for deadline, i := time.Now().Add(patience), 0; ; i++ { // a new name: one without a response may be stored
			code, id, err := submit(base, fmt.Sprintf("n%d-again%d", d.servers, i),
				fmt.Sprintf("2001:%x:8%03x::1", d.servers, i/site.SubmissionsPerHour))
			if err == nil && code == http.StatusCreated {
				taken <- id
				return
			}
			if err != nil || code < 500 || time.Now().After(deadline) {
				t.Errorf("its Postgres was killed, and serve takes no submission again: %d, %v\n%s", code, err,
					p.said())
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	senders.Wait()
	close(taken)
	for id := range taken {
		d.submitted = append(d.submitted, id)
	}
}

// submitUntilKilled sends one submission after the other, a few from each client. The address of each client begins with
// prefix and is in a network (/48) of its own. It sends the IDs of acknowledged submissions to taken.
func submitUntilKilled(t *testing.T, base, name, prefix string, taken chan<- string) {
	for i := 0; ; i++ {
		code, id, err := submit(base, fmt.Sprintf("%s-%d", name, i),
			fmt.Sprintf("%s%03x::1", prefix, i/site.SubmissionsPerHour))
		switch {
		case err == nil && code == http.StatusCreated:
			taken <- id
		case err == nil && code < 500:
			t.Errorf("submit: %d", code)
			return
		default:
			return // the server or its Postgres was killed
		}
	}
}

// submit sends a submission for a client, and returns its ID if it is acknowledged.
func submit(base, name, client string) (code int, id string, err error) {
	r, err := http.NewRequest(http.MethodPost, base+"/v1/submit", strings.NewReader(submission(name)))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", jsonBody)
	r.Header.Set("X-Forwarded-For", client)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var got struct {
		Data struct {
			ID string `json:"submission_id"`
		}
	}
	err = json.NewDecoder(res.Body).Decode(&got)
	return res.StatusCode, got.Data.ID, err
}

// build builds a snapshot and is killed before it ends.
func (d *killedDirectory) build(t *testing.T, _ []string) {
	p := command(t, nil, "build", "--data", d.data).start(t)
	soon(3 * time.Second)
	d.kill(t, "build", p, nil)
}

// index reads both chains and is killed before it ends.
func (d *killedDirectory) index(t *testing.T, rpc []string) {
	p := command(t, nil, append([]string{"index", "--once", "--data", d.data}, rpc...)...).start(t)
	soon(3 * time.Second)
	d.kill(t, "index", p, nil)
}

// up runs all parts at once, and is killed meanwhile.
func (d *killedDirectory) up(t *testing.T, rpc []string) {
	d.due(t)
	d.servers++
	p := command(t, nil, append([]string{"up", "--data", d.data, "--serve-listen", "127.0.0.1:0", "--serve-submissions",
		"--crawl-contact", testContact, "--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit", "0",
		"--serve-max-pending", "0",
		"--crawl-allow-private", d.shop, "--crawl-host-gap", "50ms", "--schedule-build", "1s", "--schedule-index",
		"1s"}, rpc...)...).start(t)
	base := strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/")
	taken := make(chan string, 10_000)
	var sender sync.WaitGroup
	sender.Go(func() {
		submitUntilKilled(t, base, fmt.Sprintf("n%d-up", d.servers), fmt.Sprintf("2001:%x:f", d.servers), taken)
	})
	soon(4 * time.Second)
	d.kill(t, "up", p, func() {
		shown := get(t, base+"/v1/stats").header.Get("X-Snapshot")
		until(t, base+"/v1/stats", "build after its Postgres was killed", func(a answer) bool {
			return a.header.Get("X-Snapshot") > shown
		})
	})
	sender.Wait()
	close(taken)
	for id := range taken {
		d.submitted = append(d.submitted, id)
	}
}

// mcp answers agents, and is killed meanwhile.
func (d *killedDirectory) mcp(t *testing.T, _ []string) {
	p := command(t, nil, "mcp", "--http", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--from",
		filepath.Join(d.data, "public")).start(t)
	address, _, _ := strings.Cut(p.await(t, "MCP on "), " ")
	var asker sync.WaitGroup
	asker.Go(func() {
		for {
			r, err := http.NewRequest(http.MethodPost, address,
				strings.NewReader(
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health","arguments":{}}}`))
			if err != nil {
				panic(err)
			}
			r.Header.Set("Content-Type", jsonBody)
			r.Header.Set("Accept", jsonBody+", text/event-stream")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				return // the program was killed
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil {
				return
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("mcp answers %d", res.StatusCode)
				return
			}
		}
	})
	soon(time.Second)
	d.kill(t, "mcp", p, nil)
	asker.Wait()
}

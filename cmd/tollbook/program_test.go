package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// patience is how long a test waits for an event. It is enough for a loaded machine under the race detector.
const patience = 3 * time.Minute

// ownCollector is the variable by which a program collects garbage as it does for users, for tests that bound or record
// its memory. Where the environment sets GOGC, as .ci/run does, other programs of tests collect garbage less often.
const ownCollector = "GOGC="

// program is the command line in a separate process.
type program struct {
	*exec.Cmd
	lines  chan string // lines of stdout, closed at the end
	exited chan struct{}

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

// command prepares the program. Variables in env override the test's own. DATABASE_URL is never inherited.
func command(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.Command(self, args...), lines: make(chan string, 1000), exited: make(chan struct{})}
	p.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "DATABASE_URL=") })
	p.Env = append(append(p.Env, asProgram+"=1"), env...)
	return p
}

// start starts the program. When the test ends, the program is killed if it still runs.
func (p *program) start(t *testing.T) *program {
	t.Helper()
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = writer(func(b []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stderr.Write(b)
	})
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s := bufio.NewScanner(stdout)
		s.Buffer(nil, 64<<20) // a longer line would stop the reader, and the program would wait for it
		for s.Scan() {
			p.mu.Lock()
			fmt.Fprintln(&p.stdout, s.Text())
			p.mu.Unlock()
			p.lines <- s.Text()
		}
		close(p.lines)
		_ = p.Wait() // the tests read ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM) // a private Postgres would outlive a kill
		p.unread()
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			_ = p.Process.Kill()
			<-p.exited
		}
	})
	return p
}

// unread drops the lines that no test awaits. Otherwise a program that prints more lines than the channel buffers would
// block forever.
func (p *program) unread() {
	go func() {
		for range p.lines { // closed when the program ends
		}
	}()
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// said returns everything that the program has printed.
func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String() + p.stderr.String()
}

// await waits for a line on stdout with a prefix, and returns the rest of the line.
func (p *program) await(t *testing.T, prefix string) string {
	t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				<-p.exited
				t.Fatalf("the program ended (%s) before it said %q:\n%s", p.ProcessState, prefix, p.said())
			}
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
				return strings.TrimSpace(rest)
			}
		case <-deadline:
			t.Fatalf("the program did not say %q:\n%s", prefix, p.said())
		}
	}
}

// status waits for the program's end and returns its exit status.
func (p *program) status(t *testing.T) int {
	t.Helper()
	p.unread()
	select {
	case <-p.exited:
		return p.ProcessState.ExitCode()
	case <-time.After(patience):
		_ = p.Process.Signal(syscall.SIGQUIT) // the program then prints the stacks of all goroutines
		<-p.exited
		t.Fatalf("the program does not end:\n%s", p.said())
		panic("not reached")
	}
}

// ending is how long a program may take to stop on a loaded machine under the race detector. It is less than the time
// limits of readers, jobs and requests, so a program that waits for one of them exceeds it.
const ending = time.Minute

// interrupt sends a signal. It fails unless the program exits with status 0 within the limit.
func (p *program) interrupt(t *testing.T, sig os.Signal) {
	t.Helper()
	began := time.Now()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if code := p.status(t); code != 0 {
		t.Errorf("told to stop, the program exits %d:\n%s", code, p.said())
	}
	if took := time.Since(began); took > ending {
		t.Errorf("it took %s to stop, %s are allowed:\n%s", took, ending, p.said())
	}
}

// tollbook runs the program to its end.
func tollbook(t *testing.T, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	p := command(t, env, args...).start(t)
	status = p.status(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	return status, p.stdout.String(), p.stderr.String()
}

// needPostgres skips the test if no server programs exist. Under CI it fails.
func needPostgres(t *testing.T) {
	t.Helper()
	if err := startsPostgres(); errors.Is(err, private.ErrNoPrograms) {
		testgate.Missing(t, "%v", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// startsPostgres starts a server once, which also downloads the programs if that is allowed.
var startsPostgres = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "tollbook-probe-")
	if err != nil {
		return err
	}
	ctx := context.Background()
	server, err := private.Start(ctx, private.Options{Dir: dir, Throwaway: true, Fetch: postgrestest.Fetch})
	if err == nil {
		err = server.Stop(ctx)
	}
	return errors.Join(err, private.Remove(ctx, dir))
})

// answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url string) answer {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// until requests url repeatedly until good accepts the response.
func until(t *testing.T, url, what string, good func(answer) bool) answer {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		a := get(t, url)
		if good(a) {
			return a
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("GET %s: no %s came; the last answer: %d\n%.2000s", url, what, a.status, a.body)
		}
	}
}

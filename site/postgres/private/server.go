//go:build unix

package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Server is a running Postgres server, as a program that uses it sees it. Several programs may use one server.
type Server struct {
	socket string // the socket's folder
	others []User
	conn   *net.UnixConn // to the supervisor, which counts this program as a user until it ends
	done   chan struct{} // closed when the server has ended, or does not matter any more

	stop sync.Once
	mu   sync.Mutex
	left bool  // Stop was called before the server ended
	err  error // how the server ended, or why it could not be stopped
}

// Pauses of Start while another process has the folder and offers no server.
const (
	joinPause    = 5 * time.Millisecond // the first one; each further one is twice as long
	joinPauseMax = 100 * time.Millisecond
	sayPause     = 3 * time.Second // until Start says whom it waits for
	olderPause   = 2 * time.Second // until Start believes that an older Tollbook has the folder
	maxDied      = 3               // supervisors that may die during a start before Start reports it
)

// start joins the server that runs in the folder, or starts one.
func start(ctx context.Context, o Options) (*Server, error) {
	began, said, died := time.Now(), false, 0
	for pause := joinPause; ; pause = min(2*pause, joinPauseMax) {
		dir, err := makeFolder(o.Dir)
		if err != nil {
			return nil, err
		}
		h, err := findHolder(dir)
		if err != nil {
			return nil, err
		}
		var s *Server
		switch waited := time.Since(began); {
		case h == nil:
			o.Dir = dir
			s, err = runSupervisor(ctx, o)
		case h.socket == "" && waited > olderPause:
			return nil, fmt.Errorf("%w, an older tollbook, which does not share its database; stop it", h)
		case h.socket == "" || h.socket == noSocket:
			if waited > sayPause && !said {
				o.say(fmt.Sprintf("waiting for process %d, which starts or stops Postgres in %s …", h.pid, h.dir))
				said = true
			}
		default:
			s, err = join(ctx, o, h)
		}
		if errors.Is(err, errNoAnswer) && died < maxDied {
			died, err = died+1, nil
		}
		if err != nil && !errors.Is(err, ErrInUse) {
			return nil, err
		}
		if s != nil {
			return s, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("start Postgres in %s: %w", dir, ctx.Err())
		}
	}
}

// join becomes a user of the server that runs. It returns nil if the server is about to stop.
func join(ctx context.Context, o Options, h *holder) (*Server, error) {
	path := filepath.Join(h.socket, controlName)
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, fs.ErrPermission) {
		return nil, explainOwner(h.socket, fmt.Errorf("use the Postgres of process %d: %w", h.pid, err))
	}
	if err != nil {
		return nil, nil // it stops, or was killed
	}
	s, err := greet(ctx, o, c)
	if errors.Is(err, errNoAnswer) {
		return nil, nil
	}
	return s, err
}

// runSupervisor starts a supervisor and becomes its first user. The error wraps ErrInUse if another one was faster.
func runSupervisor(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start Postgres in %s: %w", o.Dir, err)
	}
	ours, theirs, err := connPair()
	if err != nil {
		return nil, fmt.Errorf("start Postgres: connect to its supervisor: %w", err)
	}
	defer theirs.Close()
	request, err := json.Marshal(newSupervisorRequest(o))
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	path, err := ownProgram()
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("start Postgres: find this program: %w", err)
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{supervisorName, string(request)}, Env: supervisorEnvironment(), ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // Ctrl-C in the terminal must not reach it
	}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start Postgres: run %s: %w", path, err)
	}
	go func() { _ = cmd.Wait() }() // it may run longer than this program; else its end is collected
	theirs.Close()
	s, err := greet(ctx, o, ours)
	if errors.Is(err, errNoAnswer) {
		return nil, fmt.Errorf("start Postgres in %s: its supervisor was killed, or crashed: %w", o.Dir, err)
	}
	return s, err
}

// ownProgram returns the file of the running program. It is not the file of that name if that was replaced since.
func ownProgram() (string, error) {
	const self = "/proc/self/exe"
	path, err := os.Executable()
	running, selfErr := os.Stat(self)
	if selfErr != nil {
		return path, err // not on Linux
	}
	if named, statErr := os.Stat(path); err == nil && statErr == nil && os.SameFile(named, running) {
		return path, nil // ps shows its name
	}
	return self, nil
}

// connPair returns a connection and the file that is its other end.
func connPair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "user")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// errNoAnswer says that the supervisor ended without a message.
var errNoAnswer = errors.New("no answer")

// cancelGrace limits how long a cancelled Start waits until what it started has ended.
const cancelGrace = 10 * time.Second

// greet sends the greeting of a user and waits until the server accepts connections. If ctx ends before, it waits until
// a supervisor without other users has ended.
func greet(ctx context.Context, o Options, c *net.UnixConn) (_ *Server, err error) {
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	unwatch := context.AfterFunc(ctx, func() {
		_ = c.CloseWrite() // we leave
		_ = c.SetReadDeadline(time.Now().Add(cancelGrace))
	})
	defer unwatch()
	greeting, err := json.Marshal(User{PID: os.Getpid(), Version: o.Version, Role: o.Role})
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(append(greeting, '\n')); err != nil {
		return nil, errNoAnswer
	}
	in := json.NewDecoder(c)
	for {
		var m message
		switch err := in.Decode(&m); {
		case err != nil && ctx.Err() != nil:
			return nil, fmt.Errorf("start Postgres in %s: %w", o.Dir, ctx.Err())
		case err != nil || m.Ended != "":
			return nil, errNoAnswer
		case m.Say != "":
			o.say(m.Say)
		case m.Error != "":
			return nil, m.err()
		case m.Socket != "":
			if !unwatch() {
				_, _ = io.Copy(io.Discard, c) // until what was started has ended
				return nil, fmt.Errorf("start Postgres in %s: %w", o.Dir, ctx.Err())
			}
			s := &Server{socket: m.Socket, others: m.Others, conn: c, done: make(chan struct{})}
			go s.watch(in)
			return s, nil
		}
	}
}

// watch reads what the supervisor sends until the connection ends.
func (s *Server) watch(in *json.Decoder) {
	defer close(s.done)
	for {
		var m message
		err := in.Decode(&m)
		s.mu.Lock()
		switch {
		case m.Error != "":
			s.err = m.err()
		case m.Ended != "":
			s.err = errors.New(m.Ended)
		case err != nil && s.err == nil && !s.left:
			s.err = errors.New("the server process ended: its supervisor was killed")
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// DSN returns the URL of Tollbook's database: a Unix socket, without a password.
func (s *Server) DSN() string { return s.DSNFor(Database) }

// DSNFor returns the URL of another database of the server.
func (s *Server) DSNFor(database string) string { return dsn(s.socket, database) }

// Others returns the other programs that used the server when this one began to.
func (s *Server) Others() []User { return s.others }

// Done returns a channel that is closed when the server has ended for any reason, and after Stop.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil while the server runs and after Stop. If the server ended by itself, Err says how, with the last
// lines of its log.
func (s *Server) Err() error {
	select {
	case <-s.done:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil
	}
	return s.err
}

// leaveGrace is how long Stop waits for the server after ctx has ended.
const leaveGrace = 3 * time.Second

// Stop says that this program does not use the server any more. If others do, that is all. Otherwise the server is
// stopped: first by a fast shutdown, which leaves a clean cluster, after 10 s by an immediate one, and at last by a
// kill. Stop waits for that until 3 s after ctx has ended; the server then goes on stopping without this program, and
// the next Start waits for it. Further calls wait for the first.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.leave(ctx) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return s.err
	}
	return nil // it ended by itself, which Err reports
}

func (s *Server) leave(ctx context.Context) {
	defer s.conn.Close()
	select {
	case <-s.done:
		return
	default:
	}
	s.mu.Lock()
	s.left = s.err == nil
	s.mu.Unlock()
	_ = s.conn.CloseWrite() // fails only if the supervisor has just ended
	select {
	case <-s.done:
		return
	case <-ctx.Done():
	}
	select {
	case <-s.done:
	case <-time.After(leaveGrace):
	}
}

// errorKinds are the errors that a supervisor's error may wrap, by their names in messages.
var errorKinds = map[string]error{
	"in use": ErrInUse, "no programs": ErrNoPrograms, "wrong version": ErrWrongVersion, "permission": fs.ErrPermission,
}

func newErrorMessage(err error) message {
	m := message{Error: err.Error()}
	for name, kind := range errorKinds {
		if errors.Is(err, kind) {
			m.Kind = name
		}
	}
	return m
}

// sentError is an error that a supervisor has sent.
type sentError struct {
	text string
	kind error // one of errorKinds, or nil
}

func (e *sentError) Error() string { return e.text }
func (e *sentError) Unwrap() error { return e.kind }

// err returns the error of a message.
func (m *message) err() error { return &sentError{m.Error, errorKinds[m.Kind]} }

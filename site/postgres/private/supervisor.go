//go:build unix

package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

// supervisorName is the name under which a supervisor runs. A supervisor is a process of the same program that starts
// the server, counts its users and stops it when the last one has left. It belongs to none of them, so a user may end
// or be killed at any time without harm to the others. The kernel tells it of every end, because each user has one
// connection to it. If the supervisor is killed, the kernel ends the server (on Linux), and the next Start recovers.
const supervisorName = "tollbook-postgres-supervisor"

// init turns a process that runSupervisor started into a supervisor. It is an init function because every program that
// imports this package, tests included, must be able to start one.
func init() {
	if len(os.Args) == 2 && os.Args[0] == supervisorName {
		os.Exit(supervise(os.Args[1]))
	}
}

// userFD is the descriptor of the connection to the user that started the supervisor.
const userFD = 3

// supervisor starts and stops one server. Only its run method uses its fields.
type supervisor struct {
	users  map[*client]bool
	events chan func()   // what happened, for run to apply
	server *postmaster   // nil while it starts
	last   *net.UnixConn // to the user that left last, and waits for the end of the server
}

// client is the supervisor's side of a connection to a program that uses the server.
type client struct {
	conn *net.UnixConn
	User // zero until its greeting was read
}

func supervise(arg string) int {
	// Ctrl-C and a stop of the whole service reach the users too. They leave in order; the supervisor follows the last.
	// The signals are caught, not ignored, because the server would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	first, err := openUserConn()
	if err != nil {
		return 1
	}
	s := &supervisor{users: map[*client]bool{}, events: make(chan func())}
	var request supervisorRequest
	if err := json.Unmarshal([]byte(arg), &request); err != nil {
		send(first, message{Error: err.Error()})
		return 1
	}
	s.add(first)
	if err := s.run(request.options()); err != nil {
		return 1
	}
	return 0
}

// openUserConn returns the connection to the user that started this process. The server must not inherit it.
func openUserConn() (*net.UnixConn, error) {
	f := os.NewFile(userFD, "user")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// run starts the server, lets users join it, and stops it when the last user has left.
func (s *supervisor) run(o Options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Say = func(line string) { s.do(func() { s.sendAll(message{Say: line}) }) }
	var server *postmaster
	var err error
	started := make(chan struct{})
	go func() {
		server, err = startPostmaster(ctx, o)
		close(started)
	}()
	for starting := true; starting; {
		select {
		case <-started:
			starting = false
		case f := <-s.events:
			f()
			if len(s.users) == 0 {
				cancel()
				s.ignoreEvents()
				<-started
				starting = false
			}
		}
	}
	if err != nil {
		s.sendAll(newErrorMessage(err))
		return err
	}
	s.server = server
	return s.runStarted()
}

// runStarted runs while the server does.
func (s *supervisor) runStarted() error {
	_ = debug.SetCrashOutput(s.server.log.file, debug.CrashOptions{}) // nobody reads this process's stderr
	_ = os.Chdir("/")                                                 // the user's folder does not stay in use
	l, err := s.listen()
	if err != nil {
		s.ignoreEvents()
		err = errors.Join(err, s.server.stop(context.Background()))
		s.sendAll(newErrorMessage(err))
		return err
	}
	for u := range s.users {
		if u.PID != 0 {
			s.welcome(u)
		}
	}
	for len(s.users) > 0 {
		select {
		case f := <-s.events:
			f()
		case <-s.server.died:
			s.ignoreEvents()
			l.Close()
			s.sendAll(message{Ended: s.server.deathError().Error()})
			s.server.discard()
			return nil
		}
	}
	// A user that connects from here on loses its connection without a welcome, waits and starts another supervisor.
	s.ignoreEvents()
	l.Close()
	err = s.server.stop(context.Background())
	if err != nil {
		send(s.last, newErrorMessage(err))
	}
	return err
}

// do lets run call f.
func (s *supervisor) do(f func()) { s.events <- f }

// ignoreEvents drops everything that happens from now on, because run has returned or will.
func (s *supervisor) ignoreEvents() {
	go func() {
		for range s.events { // for as long as the process runs
		}
	}()
}

// add begins to serve a user.
func (s *supervisor) add(c *net.UnixConn) {
	u := &client{conn: c}
	s.users[u] = true
	go func() {
		in := json.NewDecoder(c)
		var greeting User
		if err := in.Decode(&greeting); err == nil {
			s.do(func() {
				u.User = greeting
				if s.server != nil {
					s.welcome(u)
				}
			})
			_ = in.Decode(&greeting) // returns when the user has left, or died
		}
		s.do(func() { s.remove(u) })
	}()
}

// remove ends the connection of a user that has left. The last one's stays open until the server has stopped, which
// that user waits for.
func (s *supervisor) remove(u *client) {
	delete(s.users, u)
	if len(s.users) > 0 {
		u.conn.Close()
	} else {
		s.last = u.conn
	}
}

// welcome tells a user where the server is, and who else uses it.
func (s *supervisor) welcome(u *client) {
	m := message{Socket: s.server.socket}
	for other := range s.users {
		if other != u && other.PID != 0 {
			m.Others = append(m.Others, other.User)
		}
	}
	send(u.conn, m)
}

func (s *supervisor) sendAll(m message) {
	for u := range s.users {
		send(u.conn, m)
	}
}

// controlName is the name of the supervisor's socket, beside the server's.
const controlName = "control"

// listen opens the supervisor's socket and says in the lock file where it is.
func (s *supervisor) listen() (*net.UnixListener, error) {
	path := filepath.Join(s.server.socket, controlName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("let other programs use Postgres: %w", err)
	}
	// Only the owner can enter the socket's folder. A chmod of path could follow a link that the server's user made.
	err = giveToOwner(s.server.socket, func(uid, gid int) error { return os.Lchown(path, uid, gid) })
	if err == nil {
		err = s.server.place.announce(os.Getpid(), s.server.socket)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("let other programs use Postgres: %w", err)
	}
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return // closed
			}
			s.do(func() { s.add(c) })
		}
	}()
	return l, nil
}

// message is what a supervisor sends to a user: one JSON object on a line.
type message struct {
	Say    string `json:",omitempty"` // a line for people
	Socket string `json:",omitempty"` // folder of the server's socket: it accepts connections
	Others []User `json:",omitempty"` // with Socket
	Error  string `json:",omitempty"` // the server could not be started
	Kind   string `json:",omitempty"` // name of the error that Error wraps, if it is one of errorKinds
	Ended  string `json:",omitempty"` // the server has ended by itself
}

// sendTimeout limits how long a user that does not read delays the others. The socket's buffer takes all messages.
const sendTimeout = time.Second

// send sends a message. A user that can't receive it has left, which its reader reports.
func send(c *net.UnixConn, m message) {
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	_ = c.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, _ = c.Write(append(line, '\n'))
}

// supervisorRequest is the argument of a supervisor: Options as JSON.
type supervisorRequest struct {
	Dir           string
	Bin           string   `json:",omitempty"`
	Settings      []string `json:",omitempty"`
	Throwaway     bool     `json:",omitempty"`
	NoDeathSignal bool     `json:",omitempty"`
	CacheDir      string   `json:",omitempty"`
	SharedDir     string   `json:",omitempty"`
}

func newSupervisorRequest(o Options) supervisorRequest {
	return supervisorRequest{
		Dir: o.Dir, Bin: o.Bin, Settings: o.Settings, Throwaway: o.Throwaway,
		NoDeathSignal: o.hooks.noDeathSignal,
		CacheDir:      o.hooks.cacheDir, SharedDir: o.hooks.sharedDir,
	}
}

func (r supervisorRequest) options() Options {
	return Options{
		Dir: r.Dir, Bin: r.Bin, Settings: r.Settings, Throwaway: r.Throwaway,
		hooks: hooks{
			noDeathSignal: r.NoDeathSignal,
			cacheDir:      r.CacheDir, sharedDir: r.SharedDir,
		},
	}
}

// Package private runs Tollbook's own Postgres server. It finds or fetches the server's programs, starts the server
// with pg_ctl for the first program that needs it, and stops it after the last one. It owns one folder on disk:
//
//	lock        locked with flock, shared by all programs that use the server; contains the folder of its socket
//	start.lock  locked with flock by the program that starts, joins or leaves the server
//	data/       the cluster, or a symbolic link to its folder; the locks and the socket then lie beside that folder
//	data.new*   an unfinished initdb
//	socket/     the unix socket, unless its path would be too long
//	log/        the server's output, in two files of bounded size
//	programs/   fetched server programs, if the user has no cache folder
//
// It makes a database available from nothing and after any crash, for root and for other users. The server of root runs
// as an unprivileged user, who owns data/ and socket/ and can do nothing outside them. It must never know the content of
// the database: schema and queries belong to package postgres.
//
// The kernel releases the locks of a killed program. If all users are killed, the server goes on: the next Start takes
// it over, and the end of that program stops it. Recovery is the ordinary start: every Start assumes that the last
// program was killed at the worst time.
package private

import (
	"context"
	"errors"
)

// Database is the database that Start creates if it is missing.
const Database = "tollbook"

// superuser is the only role. The folder around the socket, mode 0700, protects it.
const superuser = "postgres"

var (
	// ErrInUse says that other programs use the folder and this call needs it alone, or that a program has it which does
	// not share it. The error that wraps it names the folder and the processes.
	ErrInUse = errors.New("data folder in use")

	// ErrNoPrograms says that this machine has no suitable Postgres server programs and none were fetched. The
	// wrapping error names the command that installs them.
	ErrNoPrograms = errors.New("no Postgres server programs")

	// ErrWrongVersion says that another major version of Postgres made the data folder than those of the programs.
	ErrWrongVersion = errors.New("data folder of another Postgres version")
)

// Options say where and how to run the server.
type Options struct {
	// Dir is the folder that belongs to the server, for instance
	// tollbook-data/postgres. It and its parents are created if they are missing.
	Dir string

	// Say, if set, is called with a line for people whenever something takes long or is in an unexpected place:
	// "fetching Postgres 18.4 …".
	Say func(line string)

	// Bin, if set, is the folder of initdb, pg_ctl and postgres. Otherwise Start searches for them.
	Bin string

	// Fetch reports whether to download server programs if the machine has none; what says which, and from where.
	// Without it nothing is downloaded.
	Fetch func(ctx context.Context, what string) (bool, error)

	// Settings are further server settings, each "name=value". They override Tollbook's own.
	Settings []string

	// Throwaway gives up durability for speed: nothing is synced to disk.
	// For tests.
	Throwaway bool

	// Version says what this program expects of the database, and Role what it does, in a few characters without a
	// slash. Other users see both in Others.
	Version, Role string

	hooks hooks
}

// hooks let this package's tests force what a machine does not offer.
type hooks struct {
	cacheDir  string // for fetched programs, instead of the user's
	sharedDir string // instead of sharedDir
}

func (o *Options) say(line string) {
	if o.Say != nil {
		o.Say(line)
	}
}

// User is a program that uses a server.
type User struct {
	PID           int
	Version, Role string // as its Options say
}

// Start joins the server that runs in the folder, or starts one, and returns when it accepts connections. To start one
// it finds the programs, creates the cluster if it is missing, ends processes that were left, and creates the database.
// The server runs until its last user calls Stop, or until it ends by itself (see Done). A user that joins gets the
// server as it was started: its own Bin, Settings and Throwaway have no effect.
//
// If ctx ends before Start has returned, everything that was started is stopped and removed. Afterwards ctx has no
// effect on the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o)
}

// Remove removes a folder that Start created, and ends a server that killed programs left running in it. It returns
// ErrInUse while a program uses the folder, and nil if there is no folder.
func Remove(ctx context.Context, dir string) error {
	return remove(ctx, dir)
}

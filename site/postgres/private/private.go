// Package private runs Tollbook's own Postgres server: found or fetched,
// started, watched and stopped with the program that needs it. It owns one
// folder on disk:
//
//	lock       held with flock while a program uses the folder; says its pid
//	data/      the cluster, or a symbolic link to where it had to be laid
//	data.new*  an initdb that is not finished; rubbish once its program is gone
//	socket/    the unix socket, unless its path would be too long
//	log/       what the server says, in two files of bounded size
//	programs/  fetched server programs, if the user has no cache folder
//
// It knows how to get from "nothing" to "a database that answers", as root
// and as anybody, and from any crash back to there. It must never know what
// is kept in the database: schema and queries belong to package postgres.
//
// Recovery is the ordinary start: every Start assumes that the last program
// was killed at the worst moment.
package private

import (
	"context"
	"errors"
)

// Database is the database that Start makes where it is missing.
const Database = "tollbook"

// superuser is the only role; the 0700 folder around the socket guards it.
const superuser = "postgres"

var (
	// ErrInUse says that another program has the folder. The error that wraps
	// it names the folder and the program's pid.
	ErrInUse = errors.New("data folder in use")

	// ErrNoPrograms says that there are no Postgres server programs of use on
	// this machine and none could be fetched. The error that wraps it names
	// the command that installs them.
	ErrNoPrograms = errors.New("no Postgres server programs")

	// ErrWrongVersion says that the data folder was made by another major
	// version of Postgres than any program at hand.
	ErrWrongVersion = errors.New("data folder of another Postgres version")
)

// Options say where and how to run the server.
type Options struct {
	// Dir is the folder that belongs to the server, for instance
	// tollbook-data/postgres. It and its parents are made where missing.
	Dir string

	// Say, if set, is told one line for people whenever something takes long
	// or lies elsewhere than expected: "fetching Postgres 18.4 …".
	Say func(line string)

	// Bin, if set, is the folder of initdb and postgres; otherwise they are
	// looked for, and fetched where there are none.
	Bin string

	// Settings are further server settings, each "name=value", which win over
	// Tollbook's own.
	Settings []string

	// Throwaway gives up durability for speed: nothing is synced to disk.
	// For tests.
	Throwaway bool

	hooks hooks
}

// hooks let this package's tests force what a machine does not offer.
type hooks struct {
	refuseNamespaces bool   // behave as where user namespaces are refused
	noDeathSignal    bool   // let the server outlive this program, as it may elsewhere than on Linux
	cacheDir         string // for fetched programs, instead of the user's
	sharedDir        string // instead of sharedDir
}

func (o *Options) say(line string) {
	if o.Say != nil {
		o.Say(line)
	}
}

// Start gives back a server that answers: it finds the programs, makes the
// cluster if there is none yet, ends a server that a killed program left
// behind, starts its own, and makes the database. The server runs until Stop,
// until this program dies (on Linux the kernel sees to that; elsewhere the
// next Start does) or until it dies itself (see Done).
//
// When ctx ends before Start has returned, everything that was begun is
// stopped and removed. Afterwards ctx has no meaning for the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o)
}

// Remove removes a folder that Start made, together with a server that a
// killed program may have left running in it. It answers ErrInUse while a
// program has the folder, and nil if there is no folder.
func Remove(ctx context.Context, dir string) error {
	return remove(ctx, dir)
}

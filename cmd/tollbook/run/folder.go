package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
)

// ErrForeign marks the refusal of a database that is not the one of the data folder.
var ErrForeign = errors.New("the data folder belongs to another database")

// Names in a data folder.
const (
	privateDir = "postgres"      // the private Postgres
	folderFile = "database.json" // Folder
)

// Folder is the content of database.json: the database that a data folder belongs to.
type Folder struct {
	Identity string `json:"identity"` // as postgres.DB.Identity
	Server   string `json:"server"`   // host:port/database of DATABASE_URL; "" for the private Postgres
}

// where returns where the database is, in words.
func (f *Folder) where() string {
	if f.Server == "" {
		return "the private Postgres in it"
	}
	return f.Server
}

// ReadFolder returns the database that a data folder belongs to, nil if that is not recorded yet.
func ReadFolder(data string) (*Folder, error) {
	path := filepath.Join(data, folderFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f Folder
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && f.Identity == "" {
		err = errors.New("it names no identity")
	}
	if err != nil {
		return nil, fmt.Errorf("read the database of a data folder: %s: %w; if the file is damaged, delete it", path, err)
	}
	return &f, nil
}

// server returns host:port/database of a connection string, without user and password; "" for the private Postgres.
func (o *DatabaseOptions) server() string {
	config, err := pgx.ParseConfig(o.URL)
	if o.URL == "" || err != nil || strings.HasSuffix(config.Host, "/"+privateDir+"/socket") { // of a private Postgres
		return ""
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// advice says what to do if the database of a command is not the one of its data folder.
const advice = "set DATABASE_URL and --data as the service that runs this directory has them; to give the folder " +
	"another database on purpose, run `tollbook build --force` once"

// CheckPrivate returns an error that wraps ErrForeign if a private Postgres must not be used or made in a data folder,
// because the folder belongs to another database.
func CheckPrivate(data string, folder *Folder) error {
	dir := filepath.Join(data, privateDir)
	if folder != nil && folder.Server != "" {
		return fmt.Errorf("%w: DATABASE_URL is not set, and %s belongs to the database at %s (%s); %s", ErrForeign, data,
			folder.Server, folder.Identity, advice)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // an error of access is reported when the server starts
	}
	if folder != nil {
		return fmt.Errorf("%w: %s belongs to a private Postgres (%s), and %s does not exist; restore it from a back-up, "+
			"or %s", ErrForeign, data, folder.Identity, dir, advice)
	}
	if hasSnapshot(data) {
		return fmt.Errorf("%w: DATABASE_URL is not set, and %s has a snapshot but no private Postgres; %s", ErrForeign,
			data, advice)
	}
	return nil
}

// hasSnapshot reports whether a snapshot was built into a data folder.
func hasSnapshot(data string) bool {
	_, err := os.Stat(filepath.Join(data, "public", "checkpoint.json"))
	return err == nil
}

// checkIdentity returns an error that wraps ErrForeign unless the database of a connection string is the one of the
// data folder, or folder is nil. It changes nothing, so that a database that was named by mistake is not migrated.
func (o *DatabaseOptions) checkIdentity(ctx context.Context, dsn string, folder *Folder) error {
	if folder == nil {
		return nil
	}
	id, ok, err := postgres.Identify(ctx, dsn)
	if err != nil && o.URL != "" {
		return fmt.Errorf("open DATABASE_URL: %w", err)
	}
	if err != nil {
		return err
	}
	ours := Folder{Identity: id, Server: o.server()}
	switch {
	case !ok:
		return fmt.Errorf("%w: %s belongs to %s (%s), not to %s, which is empty or only older programs used; %s",
			ErrForeign, o.Data, folder.where(), folder.Identity, ours.where(), advice)
	case id != "" && id != folder.Identity:
		return fmt.Errorf("%w: %s belongs to %s (%s), not to %s (%s); %s", ErrForeign, o.Data, folder.where(),
			folder.Identity, ours.where(), id, advice)
	}
	return nil
}

// adoptFolder records which database the data folder belongs to, and where that database is now. A folder without a
// snapshot belongs to the first database that is opened for it; one with a snapshot to the database of the next build,
// which compares the snapshot.
func (d *Database) adoptFolder(ctx context.Context, folder *Folder) error {
	if d.o.Data == "" || folder == nil && hasSnapshot(d.o.Data) {
		return nil
	}
	err := d.RecordFolder(ctx)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil // the command needs no data folder; the one that builds into it writes the file
	}
	return err
}

// RecordFolder writes into the data folder, which must exist, that it belongs to this database.
func (d *Database) RecordFolder(ctx context.Context) error {
	id, err := d.Identity(ctx)
	if err != nil || id == "" {
		return err
	}
	now := Folder{Identity: id, Server: d.o.server()}
	if was, err := ReadFolder(d.o.Data); err == nil && was != nil && *was == now {
		return nil
	}
	if err := now.write(d.o.Data); err != nil {
		return fmt.Errorf("record the database of the data folder: %w", err)
	}
	return nil
}

// write replaces the file. Two processes may do that at once.
func (f *Folder) write(data string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(data, "."+folderFile+"-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // after the rename there is none
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	// A crash here leaves a temporary file, which nothing reads.
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), filepath.Join(data, folderFile))
}

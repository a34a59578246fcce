package run

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"tollbook/build"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site/postgres"
	"tollbook/site/routes"
	"tollbook/site/webbotauth"
)

// Expansions choose, by their names, which files a publisher writes as objects of their own beside the zip. A nil
// function is none.
var Expansions = map[string]func(name string) bool{
	"auto":     isContract, // or all or none, as output.PublishOptions.AllBelow says
	"all":      func(string) bool { return true },
	"contract": isContract,
	"none":     nil,
}

func isContract(name string) bool {
	return routes.IsContract(name) || name == archive.KeyFile || name == webbotauth.DirectoryFile
}

// MaxDailyWrites is the largest number of writes a day for which the expansion auto writes all files to a bucket. They
// cost 0.23 dollars a month at most providers, so that a directory of 200 services costs less than a dollar a month.
const MaxDailyWrites = 1_500

// PublishOptions are the settings of a publisher.
type PublishOptions struct {
	To        string             // s3://bucket/prefix, or a folder
	Key       ed25519.PrivateKey // signs the pointer; nil for none
	ChangeKey bool               // replace a pointer that is signed with another key
	Expand    string             // a name of Expansions
	Every     time.Duration      // shortest time between two publications; 0 to publish each build
	Force     bool               // skip the comparison with the published snapshot
	Full      bool               // write every object again
	Progress  func(output.Progress)
	Logger    *slog.Logger // logs each step; nil logs none
}

// NewPublisher returns a publisher to a place. It uses the time of this call as the present.
func NewPublisher(ctx context.Context, db *postgres.DB, o PublishOptions) (*output.Publisher, error) {
	store, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	removed, err := db.RemovedServices(ctx)
	if err != nil {
		return nil, err
	}
	removals, err := db.Removals(ctx)
	if err != nil {
		return nil, err
	}
	now, allBelow := Now(), 0
	switch {
	case o.Expand == "auto" && objects.IsBucket(o.To):
		allBelow = MaxDailyWrites
	case o.Expand == "auto":
		o.Expand = "all" // writes to a folder cost nothing
	}
	return output.NewPublisher(store, &RegisterPublication{db, store.String(), now}, output.PublishOptions{
		Now: now, Force: o.Force, Full: o.Full, Key: o.Key, ChangeKey: o.ChangeKey,
		Expand: Expansions[o.Expand], AllBelow: allBelow,
		Every: o.Every, Phase: routes.ExpandPhase,
		Header: objectHeader,
		Accept: func(snapshot archive.Files) error { return checkAddress(o.To, snapshot) },
		Check: func(before, after archive.Files) error {
			if err := build.CheckRows(ctx, db, before); err != nil {
				return err
			}
			return build.CheckSuccessor(before, after, removed)
		},
		Listed:   build.ListSnapshots,
		Erasures: build.NewErasures(removals, ""),
		Progress: o.Progress,
		Logger:   o.Logger,
	}), nil
}

// checkAddress returns an error if a snapshot whose addresses lead to this machine would be published on another one.
func checkAddress(to string, snapshot archive.Files) error {
	if !objects.IsRemote(to, os.Getenv) {
		return nil
	}
	data, err := snapshot.ReadFile(routes.IndexFile)
	if err != nil {
		return err
	}
	var index routes.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("read %s: %w", routes.IndexFile, err)
	}
	if index.Provenance == nil {
		return nil // of an older version
	}
	if LeadsHere(index.Provenance.CiteAs) {
		return fmt.Errorf("publish to %s: pages and records of this snapshot name %s, which leads readers to their own "+
			"machines; set base_url in the section [site], build again, or use --force", to, index.Provenance.CiteAs)
	}
	return nil
}

// objectHeader returns the headers of a single object. Caches ask again after a minute, because an object does not say
// when the next build is due.
func objectHeader(name string) objects.Header {
	h := objects.Header{
		Type: routes.ContentType(name), Cache: "public, max-age=60, stale-while-revalidate=30, stale-if-error=86400",
	}
	if routes.IsHashed(name) {
		h.Cache = "public, max-age=31536000, immutable"
	}
	return h
}

// RegisterPublication is the row of a place in the database, and the advisory lock of that place.
type RegisterPublication struct {
	DB     *postgres.DB
	Target string
	Now    time.Time
}

// Lock implements output.Register.
func (r *RegisterPublication) Lock(ctx context.Context) (func(context.Context) error, func(), error) {
	l, err := r.DB.LockPublication(ctx, r.Target)
	if errors.Is(err, postgres.ErrLocked) {
		return nil, nil, fmt.Errorf("%w: %w; run this command again when it has finished", output.ErrBusy, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return l.Check, l.Release, nil
}

// Read implements output.Register.
func (r *RegisterPublication) Read(ctx context.Context) (output.Record, error) {
	p, err := r.DB.Publication(ctx, r.Target)
	return output.Record(p), err
}

// Replace implements output.Register.
func (r *RegisterPublication) Replace(ctx context.Context, was int64, next output.Record) error {
	err := r.DB.ReplacePublication(ctx, r.Target, was, postgres.Publication(next), r.Now)
	if errors.Is(err, postgres.ErrConflict) {
		return fmt.Errorf("%w: %w", output.ErrConflict, err)
	}
	return err
}

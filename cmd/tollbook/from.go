package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// fromOptions say which publication is read.
type fromOptions struct {
	dataOptions
	From   string // "" for what is published in the data folder
	Memory int    // MB
}

// AddFlags adds --data, --from and --memory.
func (o *fromOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	f.StringVar(&o.From, "from", "",
		"`place` to read from: a folder that snapshots are published to, one expanded tree, or s3://bucket/prefix; "+
			"by default <data>/public")
	f.IntVar(&o.Memory, "memory", 128,
		"`MB` of a bucket to keep in memory; a snapshot of up to a quarter of that is read whole, and stays readable "+
			"while the bucket does not answer")
}

func (o *fromOptions) validate() error {
	if strings.Contains(o.From, "://") && !objects.IsBucket(o.From) {
		return terminal.UsageErrorf("--from %q: give a folder, or s3://bucket/prefix", settings.RedactURL(o.From))
	}
	if o.Memory < 16 || o.Memory > 1<<20 {
		return terminal.UsageErrorf("--memory %d: use 16 MB or more", o.Memory)
	}
	if strings.Contains(o.From, "://") && !objects.IsBucket(o.From) {
		return terminal.UsageErrorf("--from %q: give a folder or s3://bucket/prefix", settings.RedactUser(o.From))
	}
	return nil
}

// place returns the place to read from.
func (o *fromOptions) place() string { return cmp.Or(o.From, o.Public()) }

// readAttempts is the number of attempts of a request to a bucket, because a reader waits for the response.
const readAttempts = 3

// open opens a folder or a bucket, which may still be empty.
func (o *fromOptions) open(logger *slog.Logger) (*output.Source, error) {
	source, err := o.openSource(logger)
	if err != nil {
		return nil, err
	}
	s, err := source.Current()
	switch {
	case err == nil:
		s.Release()
	case errors.Is(err, output.ErrEmpty):
		logger.Warn("nothing is published yet; run tollbook build", "from", o.place())
	case errors.Is(err, archive.ErrUnreachable):
		logger.Error("read the bucket; it is tried again", "from", o.place(), "err", err)
	default:
		source.Close()
		return nil, err
	}
	return source, nil
}

func (o *fromOptions) openSource(logger *slog.Logger) (*output.Source, error) {
	if !objects.IsBucket(o.place()) {
		return output.OpenSource(o.place(), logger)
	}
	store, err := objects.OpenStore(o.place(), objects.StoreOptions{Getenv: os.Getenv, Attempts: readAttempts})
	if err != nil {
		return nil, err
	}
	return output.OpenStoreSource(store, int64(o.Memory)<<20, logger), nil
}

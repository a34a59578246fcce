package main

import (
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
)

// retentionOptions say how long snapshots are kept.
type retentionOptions struct {
	KeepDaily int
	KeepSize  int // MB
}

// AddFlags adds --publish-keep-daily and --publish-keep-size.
func (o *retentionOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "publish.keep_daily", &o.KeepDaily)
	settings.AddFlag(f, "publish.keep_size", &o.KeepSize)
}

func (o *retentionOptions) validate() error {
	if o.KeepDaily < 0 {
		return terminal.UsageErrorf("--publish-keep-daily %d: use 0 or more", o.KeepDaily)
	}
	if o.KeepSize < 0 {
		return terminal.UsageErrorf("--publish-keep-size %d: use a number of MB, or 0 for no limit", o.KeepSize)
	}
	return nil
}

func (o *retentionOptions) retention() output.Retention {
	return output.Retention{Daily: o.KeepDaily, Size: int64(o.KeepSize) * 1e6}
}

package main

import (
	"cmp"
	"os"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/listing"
)

// actorOptions say who decides.
type actorOptions struct {
	As string
}

// AddFlags adds --as.
func (o *actorOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.As, "as", os.Getenv("USER"), "`name` of the person who decides, for the audit trail")
}

func (o *actorOptions) Validate() error {
	o.As = cmp.Or(o.As, "operator") // if $USER is not set
	if utf8.RuneCountInString(o.As) > listing.MaxName || listing.CheckText(o.As, listing.MaxName) != nil {
		return terminal.UsageErrorf("--as: give a name of at most %d characters", listing.MaxName)
	}
	return nil
}

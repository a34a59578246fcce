package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"tollbook/site"
)

// freeHostOptions name the lists that an operator adds to the shipped free hosts. The crawler, the builder and who
// takes submissions need the same: a crawl asks no registry about them, a build warns of them, a submission of one is
// refused.
type freeHostOptions struct {
	FreeHosts []string
}

// AddFlags adds --free-hosts.
func (o *freeHostOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.FreeHosts, "free-hosts", nil, "`file` of more free-hosting domains, one a line; crawl, build and serve should be given the same")
}

// freeHostBytes bounds a list.
const freeHostBytes = 1 << 20

// freeHosts reads the lists. What can't be read refuses the command.
func (o *freeHostOptions) freeHosts() (site.FreeHosts, error) {
	var hosts site.FreeHosts
	for _, file := range o.FreeHosts {
		list, err := readUpTo(file, freeHostBytes)
		if err != nil {
			return hosts, usagef("--free-hosts: %w", err)
		}
		if hosts, err = hosts.With(list); err != nil {
			return hosts, usagef("--free-hosts %s: %w", file, err)
		}
	}
	return hosts, nil
}

// readUpTo reads a file of at most limit bytes.
func readUpTo(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: it has more than %d bytes", file, limit)
	}
	return data, nil
}

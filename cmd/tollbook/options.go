// This part of the package contains the commands for the users of a directory: find, best, show and check. Each one
// asks the API of a directory and prints the answer. It must never contain a rule of the directory, or suggest a
// payment that a record fact says is lost.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/encode"
	"tollbook/site/invisible"
)

// newReaderCommands returns the commands.
func newReaderCommands() []*cobra.Command {
	return []*cobra.Command{newFindCommand(), newBestCommand(), newShowCommand(), newCheckCommand(),
		newAllowListCommand()}
}

// whichDirectory is the part of each command's help about --directory.
const whichDirectory = `The directory is the one whose URL is given with --directory, the variable
TOLLBOOK_DIRECTORY or the key directory of tollbook.toml. Without any it is the one that this machine publishes in
<data>/public.`

// options are the flags of every command of this package.
type options struct {
	dataOptions
	Directory string
	JSON      bool
}

// AddFlags adds --directory, --data and --json.
func (o *options) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.addDirectory(f)
	f.BoolVar(&o.JSON, "json", false, "print JSON")
}

func (o *options) addDirectory(f *pflag.FlagSet) { settings.AddFlag(f, "directory", &o.Directory) }

// validate checks the flags. A --data on the command line wins over a directory from a variable or the file.
func (o *options) validate(f *pflag.FlagSet) error {
	if f.Changed("data") {
		if f.Changed("directory") {
			return terminal.UsageErrorf("give --directory or --data, not both")
		}
		o.Directory = ""
	}
	return directory.CheckURL(o.Directory)
}

// open opens the directory.
func (o *options) open() (*directory.Reader, error) {
	return directory.Open(directory.Options{URL: o.Directory, Public: o.Public()})
}

// with opens the directory for the time of do.
func (o *options) with(do func(*directory.Reader) error) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// printJSON prints a response of the API with indents. A terminal gets no invisible character and no invalid UTF-8.
func printJSON(w io.Writer, body json.RawMessage) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(json.RawMessage(strings.ToValidUTF8(string(body), "\uFFFD"))); err != nil {
		return err
	}
	_, err := w.Write(invisible.EscapeJSON([]byte(b.String())))
	return err
}

// printValue prints a value as JSON with indents.
func printValue(w io.Writer, v any) error {
	line, err := encode.Line(v)
	if err != nil {
		return err
	}
	return printJSON(w, line)
}

// errUnknown is returned by check if the directory does not know enough for a verdict. The exit status is 2.
var errUnknown = errors.New("no verdict")

// isInterrupted reports whether the user stopped the command.
func isInterrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

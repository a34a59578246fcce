// This file marks errors of the command line and the configuration, for which the program exits with status 2 instead
// of 1. It must never know a command.

package terminal

import "fmt"

// UsageError is an error of the command line or the configuration. No command has started when it is returned.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// UsageErrorf returns an Error with a text in the format of fmt.Errorf.
func UsageErrorf(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

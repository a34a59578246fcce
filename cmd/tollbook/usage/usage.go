// Package usage marks errors of the command line and the configuration, for which the program exits with status 2
// instead of 1. It must never know a command.
package usage

import "fmt"

// Error is an error of the command line or the configuration. No command has started when it is returned.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }
func (e Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a text in the format of fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

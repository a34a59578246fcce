// Package terminal contains what people see of a command line beside its results: progress bars, manual pages, and errors
// of flags and arguments, for which the program exits with status 2.
//
// It must never know a command or open a database.
package terminal

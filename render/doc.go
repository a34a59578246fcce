// Package render turns a resource into bytes: JSON as the contract frames it, and pages from package templates. The
// same value gives the same bytes.
//
// It does no I/O, has no clock (times come with the snapshot), and must never know where facts are kept, how they are
// judged or where the bytes go.
package render

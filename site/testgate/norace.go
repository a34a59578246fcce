//go:build !race

package testgate

// raced reports whether the race detector watches the tests.
const raced = false

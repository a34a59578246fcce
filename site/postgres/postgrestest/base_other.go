//go:build !unix

package postgrestest

import "os"

func base() string { return os.TempDir() }

func lock(string) (unlock func(), err error) { return func() {}, nil }

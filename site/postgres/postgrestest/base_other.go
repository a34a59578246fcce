//go:build !unix

package postgrestest

import "os"

func base() string { return os.TempDir() }

func checkOwner(string) error { return nil }

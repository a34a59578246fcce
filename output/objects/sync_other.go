//go:build unix && !linux

package objects

import "golang.org/x/sys/unix"

// SyncFiles makes everything under a folder durable, and everything else on the machine with it.
func SyncFiles(string) error { return unix.Sync() }

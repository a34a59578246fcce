package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// What packaging/release tells the linker. A build without it knows what the Go command recorded, if it did.
var (
	linkedVersion string // "v1.2.0"
	linkedCommit  string
)

// version is the release, or the module's as the Go command recorded it.
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// commit is the source that the program was made of, "" where nobody recorded it.
func commit() string {
	if linkedCommit != "" {
		return linkedCommit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}

// versionLine is what --version says behind the name.
func versionLine() string {
	return fmt.Sprintf("%s, commit %s, %s %s/%s", version(), cmp.Or(commit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// What packaging/release passes to the linker. A build without it knows what the Go command recorded, if it did.
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

// programSum is the sha256 of the program that runs, "" where it can't be read: two of one version may be made of other
// sources. Where the system tells it is the file that was started, whatever took its place on the disk since.
var programSum = sync.OnceValue(func() string {
	path := "/proc/self/exe"
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
})

// versionLine is what --version says behind the name.
func versionLine() string {
	return fmt.Sprintf("%s, commit %s, %s %s/%s", version(), cmp.Or(commit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Package version says which program runs: its release, the commit it was built from and the sum of its file. It must
// never know what the program does.
package version

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// packaging/release sets these with the linker. Without it they are empty, and the records of the Go command are used.
var (
	linkedVersion string // "v1.2.0"
	linkedCommit  string
)

// Version returns the release, or the version of the module that the Go command recorded, or "devel". It contains no
// parentheses, which would begin a comment in a user agent.
func Version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()") // "(devel)" without a record of the commit
	}
	return "devel"
}

// UserAgent returns the name under which the program visits services, with a URL or address for questions if there is
// one.
func UserAgent(contact string) string {
	if contact == "" {
		return "Tollbook/" + Version()
	}
	return "Tollbook/" + Version() + " (+" + contact + ")"
}

// commit returns the commit that the program was built from, "" if it was not recorded.
func commit() string {
	if linkedCommit != "" && linkedCommit != "unknown" { // the container's default
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

// ProgramSum returns the SHA-256 of the running program's file, "" if it can't be read. Two programs of one version may
// be built from different sources. On Linux it reads the file that was started, even if another has replaced it since.
var ProgramSum = sync.OnceValue(func() string {
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

// unrecorded stands for the commit of a program without one. The Go command records it in "go build" and "go install"
// within a clone, but not in "go run", outside of a clone, or with -buildvcs=false.
const unrecorded = "not recorded (go build in a clone records it)"

// Line returns the text of --version after the program's name.
func Line() string {
	return fmt.Sprintf("%s, commit %s, %s %s/%s", Version(), cmp.Or(commit(), unrecorded), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

package probe

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the package when a goroutine of ours, or one that serves a connection of ours, outlives its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := leaked(); left != "" {
			fmt.Fprintf(os.Stderr, "goroutines left over:\n\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked gives the stacks of goroutines other than this one and the runtime's, empty as soon as all have ended.
func leaked() string {
	var left []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		buf := make([]byte, 4<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = left[:0]
		for i, stack := range strings.Split(string(buf), "\n\n") {
			if i > 0 && !strings.Contains(stack, "os/signal.") && !strings.Contains(stack, "testing.(*F).Fuzz") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
	}
	return strings.Join(left, "\n\n")
}

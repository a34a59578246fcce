package output

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site/leaktest"
)

// TestPublishFaults lets every operation of a publication fail in two ways: undone, and done in spite of the error. In
// both cases the published files stay complete, and running the same build again publishes.
func TestPublishFaults(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	counted := faultyFolder(t, func(int, string, string) (bool, error) { seen.Add(1); return true, nil })
	mustPublish(t, counted, t0.Add(time.Minute), dataTree(2))
	operations := int(seen.Load())
	if operations < 25 {
		t.Fatalf("%d operations; is the hook called?", operations)
	}
	for i := range operations {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,done=%v", i, done), func(t *testing.T) { testFault(t, i, done) })
		}
	}
}

var errFault = errors.New("injected disk error")

func testFault(t *testing.T, at int, done bool) {
	var op string
	d := faultyFolder(t, func(n int, what, path string) (bool, error) {
		if n != at {
			return true, nil
		}
		op = what + " " + filepath.Base(path)
		return done, fmt.Errorf("%s %s: %w", what, path, errFault)
	})
	before, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	r, err := publish(d, t0.Add(time.Minute), dataTree(2))
	switch {
	case err == nil && !strings.HasPrefix(op, "link "):
		t.Errorf("%s failed without an error", op)
	case errors.Is(err, archive.ErrDamaged):
		t.Errorf("%s: %v, want no ErrDamaged", op, err)
	case err != nil && !(errors.Is(err, errFault) && strings.Contains(err.Error(), d.Root())):
		t.Errorf("%s: %v, want the error with the name of its file", op, err)
	}
	if err := checkWhole(d.Root()); err != nil {
		t.Errorf("after %s: %v", op, err)
	}
	now, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if now.Snapshot != before.Snapshot && now.Generation != 2 {
		t.Errorf("after %s: checkpoint %+v", op, now)
	}
	for _, name := range listing(t, d.Root()) {
		if strings.Contains(name, objects.TempPrefix) {
			t.Errorf("after %s: %s remains", op, name)
		}
	}

	again := mustPublish(t, openFolder(t, d.Root()), t0.Add(2*time.Minute), dataTree(3))
	if err := checkWhole(d.Root()); err != nil {
		t.Errorf("after the next run: %v", err)
	}
	if again.Checkpoint.Snapshot == r.Checkpoint.Snapshot || *again.Checkpoint.Previous != now.Snapshot {
		t.Errorf("the next run published %+v", again.Checkpoint)
	}
	checkPruned(t, d.Root(), again.Checkpoint)
}

// checkPruned prunes years later and checks that only the files of the checkpoint remain.
func checkPruned(t *testing.T, root string, c archive.Checkpoint) {
	t.Helper()
	if _, err := openFolder(t, root).Prune(t0.AddDate(10, 0, 0), ""); err != nil {
		t.Fatal(err)
	}
	want := []string{".lock", ".notes", "checkpoint.json", "current", "data"}
	days, _, err := openFolder(t, root).namedDays(c.Snapshot)
	if err != nil || len(days) < 2 {
		t.Errorf("days %v, %v", days, err)
	}
	for _, f := range days {
		want = append(want, f.Name, f.Name+dataSumExt)
	}
	want = append(want, "packs", "packs/2026112023.zip", "snapshots")
	for _, id := range []string{*c.Previous, c.Snapshot} {
		want = append(want, "snapshots/"+id+".zip", "snapshots/"+id+zipSumExt)
	}
	want = append(want, "tree")
	for _, id := range []string{*c.Previous, c.Snapshot} {
		want = append(want, "tree/"+id)
	}
	if diff := cmp.Diff(want, listing(t, root)); diff != "" {
		t.Errorf("after prune (-want +got):\n%s", diff)
	}
	if err := checkWhole(root); err != nil {
		t.Errorf("after prune: %v", err)
	}
}

// faultyFolder returns a folder with one snapshot. It numbers the operations of the next publication; fault decides
// whether to do one, and which error it returns.
func faultyFolder(t *testing.T, fault func(n int, op, path string) (do bool, err error)) *Folder {
	t.Helper()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, dataTree(1))
	// Two workers write the four files of the tree, so links and writes may swap numbers. Each still fails once.
	var n atomic.Int64
	d.disk.Hook = func(op, path string, do func() error) error {
		ok, err := fault(int(n.Add(1)-1), op, path)
		if !ok {
			return err
		}
		return errors.Join(do(), err)
	}
	return d
}

func TestPublishCancelled(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	ctx, cancel := context.WithCancel(context.Background())
	b, err := d.Begin(ctx, BuildOptions{Now: t0.Add(time.Minute), Next: t0})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Add("a", nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := b.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if c, err := d.Checkpoint(); err != nil || c.Generation != 1 {
		t.Errorf("checkpoint %+v, %v", c, err)
	}
}

// publishToEnv names the environment variable with the folder to which a child process publishes until it is killed.
const publishToEnv = "TOLLBOOK_OUTPUT_TEST_PUBLISH_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(publishToEnv); dir != "" {
		publishForever(dir)
	}
	leaktest.Main(m)
}

// publishForever publishes one snapshot after another and prints how long each took.
func publishForever(dir string) {
	d, err := OpenFolder(dir)
	if err != nil {
		panic(err)
	}
	n := 0
	if c, err := d.Checkpoint(); err == nil {
		n = int(c.Generation)
	}
	for ; ; n++ {
		begin := time.Now()
		files := dataTree(n)
		for i := range 100 {
			files[fmt.Sprintf("v1/list/page=%d.json", i)] = strings.Repeat(fmt.Sprint(i, n/(i+1)), 300)
		}
		if _, err := publish(d, t0.Add(time.Duration(n)*time.Second), files); err != nil {
			panic(err)
		}
		fmt.Println(time.Since(begin))
	}
}

// TestPublishKilled kills a publisher with SIGKILL at random moments, again and again in the same folder.
func TestPublishKilled(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	generation := int64(0)
	for i := range 20 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), publishToEnv+"="+root)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		var took string
		if _, err := fmt.Fscanln(out, &took); err != nil {
			t.Fatalf("the child has published nothing: %v", err)
		}
		d, err := time.ParseDuration(took)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(2*d + 1)) // within the next two publications: the moment is what is tested
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: the child ended by itself: %v", i, err)
		}
		if err := checkWhole(root); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		c, err := openFolder(t, root).Checkpoint()
		if err != nil && !errors.Is(err, ErrEmpty) || c.Generation <= generation {
			t.Fatalf("round %d: generation %d after %d, %v", i, c.Generation, generation, err)
		}
		generation = c.Generation
	}
	d := openFolder(t, root)
	mustPublish(t, d, t0.Add(24*time.Hour), tree(1))
	r := mustPublish(t, d, t0.Add(25*time.Hour), tree(2))
	newest := "" // newest of the first day, which stays: the clock alone never makes Retain drop a day
	for _, name := range listing(t, root) {
		if day := archive.SnapshotsDir + "/" + t0.Format("20060102"); strings.HasPrefix(name, day) &&
			strings.HasSuffix(name, ".zip") {
			newest = max(newest, strings.TrimSuffix(strings.TrimPrefix(name, archive.SnapshotsDir+"/"), ".zip"))
		}
	}
	if _, err := d.Prune(t0.AddDate(10, 0, 0), "2026112023"); err != nil {
		t.Fatal(err)
	}
	stays := func(name string) bool {
		return newest != "" && strings.Contains(name, newest) || strings.Contains(name, r.Checkpoint.Snapshot) ||
			strings.Contains(name, *r.Checkpoint.Previous)
	}
	for _, name := range listing(t, root) {
		if strings.HasPrefix(name, archive.SnapshotsDir+"/") && !stays(name) ||
			strings.Contains(name, objects.TempPrefix) {
			t.Errorf("after prune: %s remains", name)
		}
	}
}

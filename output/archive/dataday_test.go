package archive

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDataDay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, table, day string
		ok               bool
	}{
		{"data/checks/2026-11-20.parquet", "checks", "2026-11-20", true},
		{"data/a_b-2/2024-02-29.parquet", "a_b-2", "2024-02-29", true},
		{name: "data/checks/2026-02-29.parquet"},
		{name: "data/checks/2026-11-20.csv.gz"},
		{name: "data/checks/2026-11-20.parquet/x.parquet"},
		{name: "data/../2026-11-20.parquet"},
		{name: "data//2026-11-20.parquet"},
		{name: "data/Checks/2026-11-20.parquet"},
		{name: "data/" + strings.Repeat("x", maxTable+1) + "/2026-11-20.parquet"},
		{name: "data/checks/2026-1-20.parquet"},
		{name: "data/checks.parquet"},
		{name: "packs/checks/2026-11-20.parquet"},
		{name: ""},
	} {
		table, day, ok := ParseDataDay(test.name)
		if ok != test.ok || ok && (table != test.table || day != test.day || DataDayName(table, day) != test.name) {
			t.Errorf("ParseDataDay(%q) = %q, %q, %v", test.name, table, day, ok)
		}
		if IsDownload(test.name) != test.ok {
			t.Errorf("IsDownload(%q) = %v", test.name, !test.ok)
		}
	}
}

func TestReadDataDays(t *testing.T) {
	t.Parallel()
	hash := "sha256:" + strings.Repeat("0a", 32)
	sum := Sum([]byte(strings.Repeat("\n", 32)))
	part := func(path, hash string) string {
		return `{"path":"` + path + `","bytes":7,"hash":"` + hash + `","rows":3}`
	}
	for _, test := range []struct {
		name, index string
		want        []DataFile
		ok          bool
	}{
		{"none", `{"resources":[{"name":"services","path":"services.parquet","bytes":9,"hash":"` + hash + `"}]}`, nil,
			true},
		{"sorted", `{"name":"x","resources":[{"parts":[` + part("b/2026-11-20.parquet", hash) + `]},{"parts":[` +
			part("a/2026-11-20.parquet", hash) + `]}]}`, []DataFile{
			{"data/a/2026-11-20.parquet", 7, sum}, {"data/b/2026-11-20.parquet", 7, sum}}, true},
		{name: "twice", index: `{"resources":[{"parts":[` + part("a/2026-11-20.parquet", hash) + "," +
			part("a/2026-11-20.parquet", hash) + `]}]}`},
		{name: "outside", index: `{"resources":[{"parts":[` + part("../2026-11-20.parquet", hash) + `]}]}`},
		{name: "absolute", index: `{"resources":[{"parts":[` + part("/etc/passwd", hash) + `]}]}`},
		{name: "short hash", index: `{"resources":[{"parts":[` + part("a/2026-11-20.parquet", hash[:70]) + `]}]}`},
		{name: "long hash", index: `{"resources":[{"parts":[` + part("a/2026-11-20.parquet", hash+"00") + `]}]}`},
		{name: "another hash", index: `{"resources":[{"parts":[` + part("a/2026-11-20.parquet", "md5:"+hash[7:]) +
			`]}]}`},
		{name: "negative", index: `{"resources":[{"parts":[{"path":"a/2026-11-20.parquet","bytes":-1,"hash":"` + hash +
			`"}]}]}`},
		{name: "not JSON", index: `{"resources":`},
		{name: "a list", index: `{"resources":[{"parts":[{"path":["a/2026-11-20.parquet"],"hash":"` + hash + `"}]}]}`},
		{name: "a member outside", index: `{"resources":[{"path":"../a.parquet","hash":"` + hash + `"}]}`},
		{name: "a member without hash", index: `{"resources":[{"path":"a.parquet"}]}`},
		{name: "a day as a member", index: `{"resources":[{"path":"a/2026-11-20.parquet","hash":"` + hash + `"}]}`},
		{name: "itself", index: `{"resources":[{"path":"datapackage.json","hash":"` + hash + `"}]}`},
	} {
		_, days, err := ParseDataIndex([]byte(test.index))
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, days); test.ok && diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestReadDataDaysOfTree reads the index of a tree, which may have none or a damaged one.
func TestReadDataDaysOfTree(t *testing.T) {
	t.Parallel()
	of := func(files map[string]string) Tree {
		data, _ := makeZip(t, files, ZipOptions{})
		return openZip(t, data)
	}
	if days, has, err := ReadDataDays(of(map[string]string{"a": ""})); has || days != nil || err != nil {
		t.Errorf("without an index: %v, %v, %v", days, has, err)
	}
	if _, has, err := ReadDataDays(of(map[string]string{DataIndex: "{}"})); !has || err != nil {
		t.Errorf("an empty index: %v, %v", has, err)
	}
	if _, _, err := ReadDataDays(of(map[string]string{DataIndex: "["})); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged index: %v", err)
	}
}

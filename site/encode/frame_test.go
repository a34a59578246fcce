package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func byteRows(rows ...string) (b [][]byte) {
	for _, r := range rows {
		b = append(b, []byte(r))
	}
	return b
}

func TestFrame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows [][]byte
		meta string
		want string
	}{
		{nil, `{"total":0}`, "{\"data\":[\n],\"meta\":{\"total\":0}}\n"},
		{byteRows(`{"a":1}`), `{}`, "{\"data\":[\n{\"a\":1}\n],\"meta\":{}}\n"},
		{byteRows(`{"a":1}`, `{"b":"],\"meta\":,"}`, `[]`), `{"total":3}`,
			"{\"data\":[\n{\"a\":1},\n{\"b\":\"],\\\"meta\\\":,\"},\n[]\n],\"meta\":{\"total\":3}}\n"},
		{byteRows(`{"a":",\"provenance\":{}"}`), `{"text":",\"provenance\":{}"}`,
			"{\"data\":[\n" + `{"a":",\"provenance\":{}"}` + "\n" + `],"meta":{"text":",\"provenance\":{}"}}` + "\n"},
	} {
		got := Framing{}.List(test.rows, []byte(test.meta))
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
		cited := AppendProvenance(bytes.Clone(got), []byte(`{"license":"CC-BY-4.0"}`))
		want := strings.TrimSuffix(test.want, "}\n") + `,"provenance":{"license":"CC-BY-4.0"}}` + "\n"
		if diff := cmp.Diff(want, string(cited)); diff != "" {
			t.Errorf("with provenance (-want +got):\n%s", diff)
		}
		for _, list := range [][]byte{got, cited} {
			rows, meta, err := Framing{}.Split(list)
			if err != nil || string(meta) != test.meta || !cmp.Equal(rows, test.rows) {
				t.Errorf("Split(%s) = %q, %s, %v", list, rows, meta, err)
			}
			if meta, err := (Framing{}).FindMeta(list); err != nil || string(meta) != test.meta {
				t.Errorf("FindMeta(%s) = %s, %v", list, meta, err)
			}
		}
	}
}

// catalogue is the framing of a facilitator's catalogue.
var catalogue = Framing{Lead: `"x402Version":2,`, Rows: "items", Meta: "pagination"}

// TestFrameAs checks a route with its own framing: each of the two framings refuses files of the other.
func TestFrameAs(t *testing.T) {
	t.Parallel()
	rows, meta := byteRows(`{"a":1}`, `{"b":2}`), []byte(`{"total":2}`)
	got := catalogue.List(rows, meta)
	if diff := cmp.Diff("{\"x402Version\":2,\"items\":[\n{\"a\":1},\n{\"b\":2}\n],\"pagination\":{\"total\":2}}\n",
		string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back, m, err := catalogue.Split(got)
	if err != nil || !cmp.Equal(back, rows) || string(m) != string(meta) {
		t.Errorf("Split returns %q, %s, %v", back, m, err)
	}
	if _, _, err := (Framing{}).Split(got); !errors.Is(err, ErrFrame) {
		t.Errorf("read as data and meta: %v", err)
	}
	if _, _, err := catalogue.Split((Framing{}).List(rows, meta)); !errors.Is(err, ErrFrame) {
		t.Errorf("data and meta read as a catalogue: %v", err)
	}
}

func TestRowsRefuses(t *testing.T) {
	t.Parallel()
	for about, file := range map[string]string{
		"nothing":          "",
		"other JSON":       `{"data":[],"meta":{}}`,
		"no end":           "{\"data\":[\n{\"a\":1}\n],\"meta\":{}",
		"cut in a row":     "{\"data\":[\n{\"a\":1}}\n",
		"cut at a row":     "{\"data\":[\n{\"a\":1},\n}\n",
		"comma at the end": "{\"data\":[\n{\"a\":1},\n],\"meta\":{}}\n",
		"comma missing":    "{\"data\":[\n{\"a\":1}\n{\"a\":2}\n],\"meta\":{}}\n",
		"empty line":       "{\"data\":[\n\n],\"meta\":{}}\n",
		"comma alone":      "{\"data\":[\n{},\n,\n{}\n],\"meta\":{}}\n",
		"no meta":          "{\"data\":[\n],\"meta\":}\n",
	} {
		if rows, meta, err := (Framing{}).Split([]byte(file)); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %q, %q, %v", about, rows, meta, err)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte("{\"data\":[\n{\"a\":1},\n{}\n],\"meta\":{}}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, meta, err := Framing{}.Split(file)
		if err == nil && !bytes.Equal((Framing{}).List(rows, meta), file) {
			t.Fatalf("List(Split(%q)) differs: rows %q, meta %q", file, rows, meta)
		}
	})
}

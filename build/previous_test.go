package build

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
)

// TestDigestCoversSharedInputs changes each value that the files of every service show, including the operator's
// settings. Each change must change the digest, and the old value must restore it.
func TestDigestCoversSharedInputs(t *testing.T) {
	t.Parallel()
	shown := new(render.SharedInputs)
	fillValue(reflect.ValueOf(shown).Elem(), 0)
	sum := func(program string) string {
		d, err := sharedDigest(program, *shown)
		if err != nil {
			t.Fatal(err)
		}
		return string(d)
	}
	want, fields := sum("this one"), 0
	if sum("another") == want {
		t.Error("another program has the same digest")
	}
	visitValues(reflect.ValueOf(shown).Elem(), "shown", func(path string, v reflect.Value) {
		fields++
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		changeValue(v)
		if sum("this one") == want {
			t.Errorf("%s does not change the digest", path)
		}
		v.Set(was)
	})
	if sum("this one") != want || fields < 20 {
		t.Errorf("%d values were changed; the same ones have another digest: %t", fields, sum("this one") != want)
	}
}

// TestDigestCoversTheInputs changes each input of a service's rendered files.
func TestDigestCoversTheInputs(t *testing.T) {
	t.Parallel()
	zip := archive.NewZipWriter(io.Discard, archive.ZipOptions{})
	defer zip.Abort()
	published := func(name, data string) []file { return []file{{name, zip.Pack(name, []byte(data))}} }
	with := func(changes ...site.ChangeRecord) *site.Listing {
		return &site.Listing{ListingDetail: &site.ListingDetail{Changes: changes}}
	}
	one := site.ChangeRecord{Type: site.PriceChanged, ObservedAt: site.NewTime(now), Summary: json.RawMessage("{}")}
	x := &previousInputs{shared: []byte("shown")}
	none, seen := render.Neighbours{}, map[string]string{}
	for _, of := range []struct {
		about      string
		x          *previousInputs
		files      []file
		listing    *site.Listing
		neighbours render.Neighbours
	}{
		{"none", x, nil, with(), none},
		{"what is shown", &previousInputs{shared: []byte("other")}, nil, with(), none},
		{"a file", x, published("a", "1"), with(), none},
		{"its contents", x, published("a", "2"), with(), none},
		{"its name", x, published("b", "1"), with(), none},
		{"a change", x, nil, with(one), none},
		{"two changes", x, nil, with(one, one), none},
		{"a neighbour", x, nil, with(), render.Neighbours{Peers: []render.Peer{{Slug: "acme", Name: "Acme"}}}},
		{"its name", x, nil, with(), render.Neighbours{Peers: []render.Peer{{Slug: "acme", Name: "Bolt"}}}},
		{"its prices", x, nil, with(), render.Neighbours{Prices: &site.CategoryPrices{ServiceCount: 2}}},
	} {
		digest, err := of.x.digest(of.files, of.listing, of.neighbours)
		again, _ := of.x.digest(of.files, of.listing, of.neighbours)
		if err != nil || digest != again {
			t.Errorf("%s: %q, then %q, %v", of.about, digest, again, err)
		}
		if other, isDuplicate := seen[digest]; isDuplicate {
			t.Errorf("%s has the digest of %s", of.about, other)
		}
		seen[digest] = of.about
	}
}

// fillValue sets every exported field, with one element in each list.
func fillValue(v reflect.Value, depth int) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), depth+1)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fillValue(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				fillValue(v.Field(i), depth+1)
			}
		}
	}
}

// visitValues calls visit with every value that can be set.
func visitValues(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	if !v.CanSet() || v.Kind() == reflect.Func {
		return
	}
	if v.Kind() != reflect.Struct && v.Kind() != reflect.Array || v.Type() == reflect.TypeFor[time.Time]() {
		visit(path, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visitValues(v.Elem(), path, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			visitValues(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				visitValues(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
			}
		}
	}
}

// changeValue sets another value.
func changeValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.Unix(1, 1)))
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			v.Set(reflect.New(v.Type()).Elem())
			fillValue(v, 0)
		} else {
			v.SetZero()
		}
	}
}

package build

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"tollbook/render"
)

// TestDigestCoversTheBasis changes every field that a basis holds, however deep, one after the other: each time it has another
// digest, and the one that it had once the field is as it was.
func TestDigestCoversTheBasis(t *testing.T) {
	t.Parallel()
	b := new(basis)
	fill(reflect.ValueOf(b).Elem(), 0)
	want, fields := digest(nil, b), 0
	if bytes.Equal(want, digest([]byte{1}, b)) {
		t.Error("another seed, the same digest")
	}
	each(reflect.ValueOf(b).Elem(), "basis", func(path string, v reflect.Value) {
		fields++
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		change(v)
		if bytes.Equal(want, digest(nil, b)) {
			t.Errorf("%s is in no digest", path)
		}
		v.Set(was)
	})
	if got := digest(nil, b); !bytes.Equal(want, got) {
		t.Error("the same basis has two digests")
	}
	if fields < 300 {
		t.Errorf("%d fields were changed", fields)
	}
}

// TestDigestCoversWhatIsShown does the same to what the files of every service show, the operator's settings among it.
func TestDigestCoversWhatIsShown(t *testing.T) {
	t.Parallel()
	shown := new(render.Shown)
	fill(reflect.ValueOf(shown).Elem(), 0)
	want := digest(nil, shown)
	each(reflect.ValueOf(shown).Elem(), "shown", func(path string, v reflect.Value) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		change(v)
		if bytes.Equal(want, digest(nil, shown)) {
			t.Errorf("%s is in no digest", path)
		}
		v.Set(was)
	})
}

// fill gives everything that is exported a value, and each list one element.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Struct:
		if v.Type() != timeType {
			for i := range v.NumField() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// each visits every value that can be changed.
func each(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	if !v.CanSet() || v.Kind() == reflect.Func {
		return
	}
	if v.Kind() != reflect.Struct && v.Kind() != reflect.Array || v.Type() == timeType {
		visit(path, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			each(v.Elem(), path, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			each(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		if v.Type() != timeType {
			for i := range v.NumField() {
				each(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
			}
		}
	}
}

// change makes another value of one.
func change(v reflect.Value) {
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
			fill(v, 0)
		} else {
			v.SetZero()
		}
	}
}

package build

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
)

// digest is of a value with all that it holds, whatever fields it has: two that differ in anything have different ones. So
// nobody can forget a field. One that is made of others is left out by the tag `digest:"-"`.
func digest(seed []byte, v any) []byte {
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	d.sum.Reset()
	p := reflect.ValueOf(v)
	d.room = encoderOf(p.Type().Elem())(d, append(d.room[:0], seed...), p.Elem())
	d.sum.Write(d.room)
	return d.sum.Sum(nil)
}

// digester is a sum, and room for the bytes that wait for it.
type digester struct {
	sum  hash.Hash
	room []byte
}

var digesters = sync.Pool{New: func() any { return &digester{sum: sha256.New(), room: make([]byte, 0, 2*digestPiece)} }}

const digestPiece = 4096 // bytes that are summed at once

// flush sums b once it is large, and gives its room back.
func (d *digester) flush(b []byte) []byte {
	if len(b) < digestPiece {
		return b
	}
	d.sum.Write(b)
	return b[:0]
}

// appendList appends how many a list has, and tells one that is nil from one that is empty: JSON does.
func appendList(b []byte, n int, isNil bool) []byte {
	if isNil {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(n)+1)
}

// encoder appends a value of one type, which can be addressed, to what waits to be summed.
type encoder func(d *digester, b []byte, v reflect.Value) []byte

var encoders sync.Map // by reflect.Type

// encoderOf is the encoder of a type, made once. One that is not finished yet, of a type within itself, is asked for when it
// is used.
func encoderOf(t reflect.Type) encoder {
	if e, known := encoders.Load(t); known {
		return e.(encoder)
	}
	e, _ := encoders.LoadOrStore(t, makeEncoder(t))
	return e.(encoder)
}

var timeType = reflect.TypeFor[time.Time]()

func makeEncoder(t reflect.Type) encoder {
	switch t.Kind() {
	case reflect.Bool:
		return func(_ *digester, b []byte, v reflect.Value) []byte {
			if v.Bool() {
				return append(b, 1)
			}
			return append(b, 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(_ *digester, b []byte, v reflect.Value) []byte { return binary.AppendVarint(b, v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(_ *digester, b []byte, v reflect.Value) []byte { return binary.AppendUvarint(b, v.Uint()) }
	case reflect.Float64:
		return func(_ *digester, b []byte, v reflect.Value) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
		}
	case reflect.String:
		return func(d *digester, b []byte, v reflect.Value) []byte {
			s := v.String()
			return d.flush(append(binary.AppendUvarint(b, uint64(len(s))), s...))
		}
	case reflect.Pointer:
		return pointerEncoder(t)
	case reflect.Slice, reflect.Array:
		return listEncoder(t)
	case reflect.Map:
		return mapEncoder(t)
	case reflect.Struct:
		if t == timeType {
			return func(_ *digester, b []byte, v reflect.Value) []byte {
				at := (*time.Time)(v.Addr().UnsafePointer()) // also of a field that is not exported
				return binary.AppendUvarint(binary.AppendVarint(b, at.Unix()), uint64(at.Nanosecond()))
			}
		}
		return structEncoder(t)
	}
	panic(fmt.Sprintf("digest of a %s: what it holds can't be told", t))
}

func pointerEncoder(t reflect.Type) encoder {
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		return of()(d, append(b, 1), v.Elem())
	}
}

func listEncoder(t reflect.Type) encoder {
	slice := t.Kind() == reflect.Slice
	if t.Elem().Kind() == reflect.Uint8 {
		return func(d *digester, b []byte, v reflect.Value) []byte {
			p := v.Bytes()
			return d.flush(append(appendList(b, len(p), slice && p == nil), p...))
		}
	}
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, b []byte, v reflect.Value) []byte {
		n, of := v.Len(), of()
		b = appendList(b, n, slice && v.IsNil())
		for i := range n {
			b = of(d, b, v.Index(i))
		}
		return b
	}
}

// mapEncoder goes by the order of keys, which are texts.
func mapEncoder(t reflect.Type) encoder {
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("digest of a %s: its keys have no order", t))
	}
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, b []byte, v reflect.Value) []byte {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		b = appendList(b, len(keys), v.IsNil())
		value := reflect.New(t.Elem()).Elem()
		for _, k := range keys {
			key := k.String()
			b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
			value.Set(v.MapIndex(k))
			b = of()(d, b, value)
		}
		return b
	}
}

func structEncoder(t reflect.Type) encoder {
	type part struct {
		i  int
		of encoder
	}
	parts := sync.OnceValue(func() []part {
		var list []part
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("digest") != "-" && f.Name != "_" {
				list = append(list, part{i, encoderOf(f.Type)})
			}
		}
		return list
	})
	return func(d *digester, b []byte, v reflect.Value) []byte {
		for _, p := range parts() {
			b = p.of(d, b, v.Field(p.i))
		}
		return d.flush(b)
	}
}

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
	d.b = append(d.b[:0], seed...)
	p := reflect.ValueOf(v)
	encoderOf(p.Type().Elem())(d, p.Elem())
	d.sum.Write(d.b)
	return d.sum.Sum(nil)
}

// digester is a sum with the bytes that wait for it.
type digester struct {
	sum hash.Hash
	b   []byte
}

var digesters = sync.Pool{New: func() any { return &digester{sum: sha256.New(), b: make([]byte, 0, 2*digestPiece)} }}

const digestPiece = 4096 // bytes that are summed at once

func (d *digester) word(n uint64) { d.b = binary.LittleEndian.AppendUint64(d.b, n) }

func (d *digester) bytes(p []byte) {
	d.word(uint64(len(p)))
	d.b = append(d.b, p...)
	d.flush()
}

func (d *digester) flush() {
	if len(d.b) >= digestPiece {
		d.sum.Write(d.b)
		d.b = d.b[:0]
	}
}

// encoder appends a value of one type, which can be addressed, to a digest.
type encoder func(d *digester, v reflect.Value)

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
		return func(d *digester, v reflect.Value) {
			if v.Bool() {
				d.b = append(d.b, 1)
			} else {
				d.b = append(d.b, 0)
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(d *digester, v reflect.Value) { d.word(uint64(v.Int())) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(d *digester, v reflect.Value) { d.word(v.Uint()) }
	case reflect.Float64:
		return func(d *digester, v reflect.Value) { d.word(math.Float64bits(v.Float())) }
	case reflect.String:
		return func(d *digester, v reflect.Value) {
			s := v.String()
			d.word(uint64(len(s)))
			d.b = append(d.b, s...)
			d.flush()
		}
	case reflect.Pointer:
		return pointerEncoder(t)
	case reflect.Slice, reflect.Array:
		return listEncoder(t)
	case reflect.Map:
		return mapEncoder(t)
	case reflect.Struct:
		if t == timeType {
			return func(d *digester, v reflect.Value) {
				at := (*time.Time)(v.Addr().UnsafePointer()) // also of a field that is not exported
				d.word(uint64(at.Unix()))
				d.word(uint64(at.Nanosecond()))
			}
		}
		return structEncoder(t)
	}
	panic(fmt.Sprintf("digest of a %s: what it holds can't be told", t))
}

func pointerEncoder(t reflect.Type) encoder {
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, v reflect.Value) {
		if v.IsNil() {
			d.b = append(d.b, 0)
			return
		}
		d.b = append(d.b, 1)
		of()(d, v.Elem())
	}
}

// listEncoder tells a list that is nil from one that is empty: JSON does.
func listEncoder(t reflect.Type) encoder {
	slice := t.Kind() == reflect.Slice
	if t.Elem().Kind() == reflect.Uint8 {
		return func(d *digester, v reflect.Value) {
			if slice && v.IsNil() {
				d.word(math.MaxUint64)
				return
			}
			d.bytes(v.Bytes())
		}
	}
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, v reflect.Value) {
		if slice && v.IsNil() {
			d.word(math.MaxUint64)
			return
		}
		d.word(uint64(v.Len()))
		for i := range v.Len() {
			of()(d, v.Index(i))
		}
	}
}

// mapEncoder goes by the order of keys, which are texts.
func mapEncoder(t reflect.Type) encoder {
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("digest of a %s: its keys have no order", t))
	}
	of := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(d *digester, v reflect.Value) {
		if v.IsNil() {
			d.word(math.MaxUint64)
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		d.word(uint64(len(keys)))
		value := reflect.New(t.Elem()).Elem()
		for _, k := range keys {
			d.bytes([]byte(k.String()))
			value.Set(v.MapIndex(k))
			of()(d, value)
		}
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
	return func(d *digester, v reflect.Value) {
		for _, p := range parts() {
			p.of(d, v.Field(p.i))
		}
		d.flush()
	}
}

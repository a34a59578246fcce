package build

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"sync"
	"time"
)

// shelf keeps a value of each service that is asked for later, as bytes: a directory of structs, with a pointer for each of
// their texts, takes three times the memory, and all of it is walked whenever garbage is collected. What is put there goes by
// its type, so that a field that is added is kept, too. encoding/gob would make nil of an empty list, which JSON tells apart,
// and takes each text as often as it comes. One goroutine puts, or several get.
type shelf[T any] struct {
	code   codec
	texts  texts
	pieces []piece
	places []shelved
}

// piece holds values side by side, so that the last of them gives its memory back.
type piece struct {
	data []byte
	used int // values in it
}

// shelved is where a value lies; one without a size is not there.
type shelved struct{ piece, from, size uint32 }

const shelfPiece = 256 << 10 // bytes

func newShelf[T any](places int) *shelf[T] {
	return &shelf[T]{code: codecOf(reflect.TypeFor[T]()), texts: newTexts(), places: make([]shelved, places)}
}

// put keeps a value.
func (s *shelf[T]) put(place int, v *T) {
	b := append(s.code.encode(&s.texts, s.texts.buffer[:0], reflect.ValueOf(v).Elem()), 0) // no value is empty
	s.texts.buffer = b
	last := len(s.pieces) - 1
	if last < 0 || len(s.pieces[last].data)+len(b) > cap(s.pieces[last].data) {
		s.pieces = append(s.pieces, piece{data: make([]byte, 0, max(shelfPiece, len(b)))})
		last++
	}
	p := &s.pieces[last]
	s.places[place] = shelved{uint32(last), uint32(len(p.data)), uint32(len(b))}
	p.data, p.used = append(p.data, b...), p.used+1
}

// get makes the value anew; what it answers is the caller's own. It is zero where there is none.
func (s *shelf[T]) get(place int) (v T) {
	if at := s.places[place]; at.size > 0 {
		s.code.decode(&s.texts, s.pieces[at.piece].data[at.from:at.from+at.size], reflect.ValueOf(&v).Elem())
	}
	return v
}

// drop forgets a value.
func (s *shelf[T]) drop(place int) {
	at := &s.places[place]
	if at.size == 0 {
		return
	}
	p := &s.pieces[at.piece]
	if p.used--; p.used == 0 && int(at.piece) < len(s.pieces)-1 {
		p.data = nil
	}
	*at = shelved{}
}

// texts gives a text that comes again a number. Most texts come once: one is numbered when it is seen while its hash is
// still remembered, and those that are not stand where they are used.
type texts struct {
	numbers map[string]uint64
	list    []string
	lately  []uint64 // hashes, each at its place
	seed    maphash.Seed
	buffer  []byte // of the value that is put
}

const rememberedTexts = 1 << 13

func newTexts() texts {
	return texts{numbers: map[string]uint64{}, lately: make([]uint64, rememberedTexts), seed: maphash.MakeSeed()}
}

func (t *texts) append(b []byte, s string) []byte {
	if n, known := t.numbers[s]; known {
		return binary.AppendUvarint(b, n<<1|1)
	}
	hash := maphash.String(t.seed, s)
	if at := &t.lately[hash%rememberedTexts]; *at == hash {
		n := uint64(len(t.list))
		t.numbers[s], t.list = n, append(t.list, s)
		return binary.AppendUvarint(b, n<<1|1)
	} else {
		*at = hash
	}
	return append(binary.AppendUvarint(b, uint64(len(s))<<1), s...)
}

func (t *texts) read(b []byte) (string, []byte) {
	n, b := uvarint(b)
	if n&1 == 1 {
		return t.list[n>>1], b
	}
	return string(b[:n>>1]), b[n>>1:]
}

// codec appends values of one type to bytes, and makes them again: those of the fields of a struct that are not zero, behind a
// bit for each field.
type codec struct {
	encode func(t *texts, b []byte, v reflect.Value) []byte
	decode func(t *texts, b []byte, v reflect.Value) []byte
}

var codecs sync.Map // by reflect.Type

func codecOf(t reflect.Type) codec {
	if c, known := codecs.Load(t); known {
		return c.(codec)
	}
	c, _ := codecs.LoadOrStore(t, makeCodec(t))
	return c.(codec)
}

func uvarint(b []byte) (uint64, []byte) {
	n, size := binary.Uvarint(b)
	return n, b[size:]
}

func makeCodec(t reflect.Type) codec {
	switch {
	case t == timeType:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte {
				at := v.Addr().Interface().(*time.Time)
				return binary.AppendUvarint(binary.AppendVarint(b, at.Unix()), uint64(at.Nanosecond()))
			},
			func(_ *texts, b []byte, v reflect.Value) []byte {
				seconds, size := binary.Varint(b)
				nanoseconds, b := uvarint(b[size:])
				*v.Addr().Interface().(*time.Time) = time.Unix(seconds, int64(nanoseconds)).UTC()
				return b
			},
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte {
				return append(binary.AppendUvarint(b, uint64(v.Len())), v.Bytes()...)
			},
			func(_ *texts, b []byte, v reflect.Value) []byte {
				n, b := uvarint(b)
				v.SetBytes(bytes.Clone(b[:n]))
				return b[n:]
			},
		}
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte { return append(b, v.Bytes()...) },
			func(_ *texts, b []byte, v reflect.Value) []byte { return b[copy(v.Bytes(), b):] },
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte {
				if v.Bool() {
					return append(b, 1)
				}
				return append(b, 0)
			},
			func(_ *texts, b []byte, v reflect.Value) []byte {
				v.SetBool(b[0] == 1)
				return b[1:]
			},
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte { return binary.AppendVarint(b, v.Int()) },
			func(_ *texts, b []byte, v reflect.Value) []byte {
				n, size := binary.Varint(b)
				v.SetInt(n)
				return b[size:]
			},
		}
	case reflect.Float64:
		return codec{
			func(_ *texts, b []byte, v reflect.Value) []byte {
				return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
			},
			func(_ *texts, b []byte, v reflect.Value) []byte {
				v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
				return b[8:]
			},
		}
	case reflect.String:
		return codec{
			func(t *texts, b []byte, v reflect.Value) []byte { return t.append(b, v.String()) },
			func(t *texts, b []byte, v reflect.Value) []byte {
				s, b := t.read(b)
				v.SetString(s)
				return b
			},
		}
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Slice:
		return sliceCodec(t)
	case reflect.Struct:
		return structCodec(t)
	}
	panic(fmt.Sprintf("shelf of a %s: what it holds can't be kept", t))
}

// pointerCodec may be of a type that no value that is kept has.
func pointerCodec(t reflect.Type) codec {
	of := sync.OnceValue(func() codec { return codecOf(t.Elem()) })
	return codec{
		func(x *texts, b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			return of().encode(x, append(b, 1), v.Elem())
		},
		func(x *texts, b []byte, v reflect.Value) []byte {
			if b[0] == 0 {
				return b[1:]
			}
			v.Set(reflect.New(t.Elem()))
			return of().decode(x, b[1:], v.Elem())
		},
	}
}

// sliceCodec tells a list that is nil from one that is empty: JSON does.
func sliceCodec(t reflect.Type) codec {
	of := sync.OnceValue(func() codec { return codecOf(t.Elem()) })
	return codec{
		func(x *texts, b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			b = binary.AppendUvarint(b, uint64(v.Len())+1)
			for i := range v.Len() {
				b = of().encode(x, b, v.Index(i))
			}
			return b
		},
		func(x *texts, b []byte, v reflect.Value) []byte {
			n, b := uvarint(b)
			if n == 0 {
				return b
			}
			v.Set(reflect.MakeSlice(t, int(n)-1, int(n)-1))
			for i := range v.Len() {
				b = of().decode(x, b, v.Index(i))
			}
			return b
		},
	}
}

func structCodec(t reflect.Type) codec {
	parts := sync.OnceValue(func() []codec {
		list := make([]codec, t.NumField())
		for i := range list {
			if f := t.Field(i); !f.IsExported() {
				panic(fmt.Sprintf("shelf of a %s: %s is not exported", t, f.Name))
			}
			list[i] = codecOf(t.Field(i).Type)
		}
		return list
	})
	return codec{
		func(x *texts, b []byte, v reflect.Value) []byte {
			bits := len(b)
			for range (t.NumField() + 7) / 8 {
				b = append(b, 0)
			}
			for i, of := range parts() {
				if f := v.Field(i); !f.IsZero() {
					b[bits+i/8] |= 1 << (i % 8)
					b = of.encode(x, b, f)
				}
			}
			return b
		},
		func(x *texts, b []byte, v reflect.Value) []byte {
			bits := b
			b = b[(t.NumField()+7)/8:]
			for i, of := range parts() {
				if bits[i/8]&(1<<(i%8)) != 0 {
					b = of.decode(x, b, v.Field(i))
				}
			}
			return b
		},
	}
}

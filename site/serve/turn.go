package serve

import "bytes"

// turn is what an address says of its page: how many rows, and from where on. What is left of the address is the same for
// all pages of a list.
type turn struct {
	list        []byte // the address without the two numbers
	size, place given
}

// given is a number that an address has, and by which name; the zero number is none.
type given struct {
	name  string
	value int
}

// turnNames are the parameters of such numbers, with what follows them.
var turnNames = [...]struct {
	name  string
	place bool
}{{"per_page", false}, {"page", true}, {"limit", false}, {"offset", true}}

// read reads an address. It is false where there are no such numbers, or there might be some that are written otherwise or
// given twice, of which site.ParseRequest knows what they mean. What it reads does not change, so that list may be used again.
func (t *turn) read(path, query []byte) bool {
	t.size, t.place = given{}, given{}
	t.list = append(append(t.list[:0], path...), '?')
	for more := true; more; {
		var part []byte
		part, query, more = bytes.Cut(query, []byte{'&'})
		name, value, _ := bytes.Cut(part, []byte{'='})
		if bytes.ContainsAny(name, "%+") {
			return false
		}
		if to, as := t.of(name); to != nil {
			n, ok := canonical(value)
			if !ok || *to != (given{}) {
				return false
			}
			*to, part = given{as, n}, part[:len(name)]
		}
		t.list = append(append(t.list, part...), '&')
	}
	return t.size != given{} || t.place != given{}
}

// of is the number that a parameter is for, nil for any other parameter.
func (t *turn) of(name []byte) (*given, string) {
	for _, known := range &turnNames {
		if string(name) == known.name {
			if known.place {
				return &t.place, known.name
			}
			return &t.size, known.name
		}
	}
	return nil, ""
}

// canonical is a number below a thousand million that is written as it would be by us.
func canonical(text []byte) (n int, ok bool) {
	if len(text) == 0 || len(text) > 9 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

package site

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestVocabularyIsInUse: every word for a type or a field belongs to something that is published, so that what goes from
// the contract goes from here too.
func TestVocabularyIsInUse(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, body := range Responses {
		use(used, reflect.TypeOf(body))
	}
	for _, f := range Files {
		use(used, reflect.TypeOf(f.Body))
	}
	for _, c := range Calls {
		for _, body := range []any{c.Body, c.Answer} {
			if body != nil {
				use(used, reflect.TypeOf(body))
			}
		}
	}
	use(used, reflect.TypeFor[ErrorBody]())
	for name := range types {
		if !used["type "+name] {
			t.Errorf("type %s is described and nowhere published", name)
		}
	}
	for name := range fields {
		if !used[name] {
			t.Errorf("field %s is described and nowhere published", name)
		}
	}
}

// use marks the words that a type's description takes.
func use(used map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		use(used, t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[Time]() || used["type "+t.Name()] && t.Name() != "" {
			return
		}
		used["type "+t.Name()] = true
		useFields(used, t, t.Name())
	}
}

func useFields(used map[string]bool, t reflect.Type, typeName string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			useFields(used, f.Type, typeName)
			continue
		}
		key := typeName + "." + name
		if _, ok := fields[key]; !ok {
			key = name
		}
		used[key] = true
		for _, v := range fields[key].OneOf {
			use(used, reflect.TypeOf(v))
		}
		use(used, f.Type)
	}
}

// TestSegments: what a variable part of a path may be is what requests may have there.
func TestSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slug string
		want bool
	}{{"acme", true}, {"a", true}, {"a-1", true}, {"-a", false}, {"a-", false}, {"A", false}, {strings.Repeat("a", MaxSlug), true}, {strings.Repeat("a", MaxSlug+1), false}} {
		s := SegmentByName("slug")
		if got := len(c.slug) <= s.MaxLength && regexp.MustCompile(s.Pattern).MatchString(c.slug); got != c.want || ValidSlug(c.slug) != c.want {
			t.Errorf("slug %.20q: the segment says %t, ValidSlug %t, want %t", c.slug, got, ValidSlug(c.slug), c.want)
		}
	}
}

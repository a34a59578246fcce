package vocabulary

import (
	"reflect"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/routes"
)

// TestVocabularyIsInUse checks that every described type and field is published, so that a description is deleted
// together with its type or field.
func TestVocabularyIsInUse(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, body := range routes.Responses {
		use(used, reflect.TypeOf(body))
	}
	for _, f := range routes.Files {
		use(used, reflect.TypeOf(f.Body))
	}
	for _, c := range routes.Calls {
		for _, body := range []any{c.Body, c.Response} {
			if body != nil {
				use(used, reflect.TypeOf(body))
			}
		}
	}
	use(used, reflect.TypeFor[site.ErrorBody]())
	described := 0
	for _, m := range fieldMaps {
		described += len(m)
	}
	if len(fields) != described {
		t.Error("a field is described twice")
	}
	for name := range types {
		if !used["type "+name] {
			t.Errorf("type %s is described but not published", name)
		}
	}
	for name := range fields {
		if !used[name] {
			t.Errorf("field %s is described but not published", name)
		}
	}
}

// use marks the descriptions that a type and its fields use.
func use(used map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		use(used, t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[site.Time]() || used["type "+t.Name()] && t.Name() != "" {
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

package benchsuite

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fields collects the JSON names of a report's type, those of nested ones included.
func fields(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		fields(t.Elem(), into)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name // as encoding/json does
			}
			into[name] = true
			fields(f.Type, into)
		}
	}
}

// The schema is what docs/results.md says: no field without a word about it.
func TestSchemaIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/results.md")
	require.NoError(t, err)
	names := map[string]bool{}
	fields(reflect.TypeFor[Report](), names)
	require.Greater(t, len(names), 60)
	for name := range names {
		require.Contains(t, string(doc), "`"+name+"`")
	}
}

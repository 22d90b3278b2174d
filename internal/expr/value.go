package expr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// decode reads JSON. A number that is written as an integer, and fits 64 bits, is an int; any other
// is a double.
func decode(data []byte) (ref.Val, error) {
	if !utf8.Valid(data) {
		return nil, &EvalError{Reason: "what it is about is not valid UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &EvalError{Reason: "what it is about is not JSON: " + oneLine(err.Error())}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &EvalError{Reason: "there is something behind the JSON that it is about"}
	}
	return valueOf(v)
}

// adapter makes lists of values. It is asked for nothing else: values are made of JSON here.
var adapter = types.DefaultTypeAdapter

// valueOf makes a value of what was decoded.
func valueOf(v any) (ref.Val, error) {
	switch v := v.(type) {
	case nil:
		return types.NullValue, nil
	case bool:
		return types.Bool(v), nil
	case string:
		return types.String(v), nil
	case json.Number:
		return number(v)
	case []any:
		list := make([]ref.Val, len(v))
		for i := range v {
			var err error
			if list[i], err = valueOf(v[i]); err != nil {
				return nil, err
			}
		}
		return types.NewRefValList(adapter, list), nil
	case map[string]any:
		fields := make(map[ref.Val]ref.Val, len(v))
		for name := range v {
			value, err := valueOf(v[name])
			if err != nil {
				return nil, err
			}
			fields[types.String(name)] = value
		}
		return sorted(types.NewRefValMap(adapter, fields)), nil
	default:
		return nil, &EvalError{Reason: fmt.Sprintf("what it is about has a value of the type %T", v)}
	}
}

func number(n json.Number) (ref.Val, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return types.Int(i), nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return nil, &EvalError{Reason: fmt.Sprintf("the number %.40s is too large", string(n))}
	}
	return types.Double(f), nil
}

// inOrder is a map whose keys come in their order. In those of the library they come in another one
// each time.
type inOrder struct {
	traits.Mapper

	once sync.Once
	keys []ref.Val
}

// sorted lets the keys of a map come in their order.
func sorted(m traits.Mapper) ref.Val {
	if _, is := m.(*inOrder); is {
		return m
	}
	return &inOrder{Mapper: m}
}

// Iterator implements traits.Iterable. The keys are put into their order once: an expression may
// iterate over a map within an iteration.
func (m *inOrder) Iterator() traits.Iterator {
	m.once.Do(func() { m.keys = keysOf(m.Mapper) })
	return types.NewRefValList(adapter, m.keys).Iterator()
}

// keysOf are the keys of a map in their order.
func keysOf(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int {
		if byType := strings.Compare(a.Type().TypeName(), b.Type().TypeName()); byType != 0 {
			return byType
		}
		key, is := a.(traits.Comparer)
		if !is {
			return 0
		}
		order, _ := key.Compare(b).(types.Int)
		return int(order)
	})
	return keys
}

// mostDeep is how deep JSON may be nested that an expression makes. What it gets may be as deep as
// the decoder reads.
const mostDeep = 10_000

// encode writes a value as JSON.
func encode(value ref.Val) ([]byte, error) {
	w := writer{}
	if err := w.value(value, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

type writer struct{ out []byte }

var errTooLarge = &EvalError{Reason: fmt.Sprintf("its value is too large: it may have %d bytes as JSON", MaxResult)}

func (w *writer) add(text ...byte) error {
	if len(w.out)+len(text) > MaxResult {
		return errTooLarge
	}
	w.out = append(w.out, text...)
	return nil
}

func (w *writer) value(value ref.Val, depth int) error {
	if depth > mostDeep {
		return &EvalError{Reason: "its value is nested too deep"}
	}
	switch v := value.(type) {
	case types.Null:
		return w.add([]byte("null")...)
	case types.Bool:
		return w.add(strconv.AppendBool(nil, bool(v))...)
	case types.Int:
		return w.add(strconv.AppendInt(nil, int64(v), 10)...)
	case types.Uint:
		return w.add(strconv.AppendUint(nil, uint64(v), 10)...)
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return &EvalError{Reason: "its value has a number that JSON does not have"}
		}
		text, err := json.Marshal(float64(v))
		if err != nil {
			return &EvalError{Reason: err.Error()}
		}
		return w.add(text...)
	case types.String:
		return w.text(string(v))
	case types.Bytes:
		if base64.StdEncoding.EncodedLen(len(v)) > MaxResult {
			return errTooLarge
		}
		return w.text(base64.StdEncoding.EncodeToString(v))
	case types.Timestamp, types.Duration:
		text, _ := value.ConvertToType(types.StringType).(types.String)
		return w.text(string(text))
	case traits.Lister:
		return w.list(v, depth)
	case traits.Mapper:
		return w.object(v, depth)
	default:
		return &EvalError{Reason: fmt.Sprintf("its value has one of the type %s, which JSON does not have", value.Type().TypeName())}
	}
}

func (w *writer) text(s string) error {
	if !utf8.ValidString(s) {
		return &EvalError{Reason: "its value has a text that is not valid UTF-8"}
	}
	if len(w.out)+len(s) > MaxResult {
		return errTooLarge
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return &EvalError{Reason: err.Error()}
	}
	return w.add(bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func (w *writer) list(v traits.Lister, depth int) error {
	if err := w.add('['); err != nil {
		return err
	}
	for i := range sizeOf(v) {
		if i > 0 {
			if err := w.add(','); err != nil {
				return err
			}
		}
		if err := w.value(v.Get(types.Int(i)), depth+1); err != nil {
			return err
		}
	}
	return w.add(']')
}

// object writes a map.
func (w *writer) object(v traits.Mapper, depth int) error {
	if sizeOf(v) > MaxResult {
		return errTooLarge
	}
	var names []string
	for it := v.Iterator(); it.HasNext() == types.True; {
		name, is := it.Next().(types.String)
		if !is {
			return &EvalError{Reason: "its value has a map whose keys are not all texts, which JSON does not have"}
		}
		names = append(names, string(name))
	}
	for i, name := range names {
		start := byte(',')
		if i == 0 {
			start = '{'
		}
		if err := w.add(start); err != nil {
			return err
		}
		if err := w.text(name); err != nil {
			return err
		}
		if err := w.add(':'); err != nil {
			return err
		}
		if err := w.value(v.Get(types.String(name)), depth+1); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return w.add([]byte("{}")...)
	}
	return w.add('}')
}

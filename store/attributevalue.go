package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxKeyword is how many bytes a keyword may have.
const MaxKeyword = 256

// AttributeValue is a value of a search attribute. Values can be compared with ==. The functions
// and ParseAttributeValue make them; the zero value is none.
type AttributeValue struct {
	Type AttributeType
	// Data is the value as databases keep it: the bytes of values of one type are in the order of
	// the values.
	Data string
}

// KeywordValue is a text.
func KeywordValue(v string) AttributeValue { return AttributeValue{AttributeKeyword, v} }

// IntValue is an integer.
func IntValue(v int64) AttributeValue {
	return AttributeValue{AttributeInt, ordered(uint64(v) ^ signBit)}
}

// FloatValue is a number. There is one zero.
func FloatValue(v float64) AttributeValue {
	if v == 0 {
		v = 0 // and not the negative one
	}
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		bits = ^bits
	} else {
		bits |= signBit
	}
	return AttributeValue{AttributeFloat, ordered(bits)}
}

// BoolValue is false or true.
func BoolValue(v bool) AttributeValue {
	if v {
		return AttributeValue{AttributeBool, "\x01"}
	}
	return AttributeValue{AttributeBool, "\x00"}
}

// TimeValue is a time, cut to microseconds.
func TimeValue(v time.Time) AttributeValue {
	return AttributeValue{AttributeTime, ordered(uint64(v.UnixMicro()) ^ signBit)}
}

// TextValue is a value as ParseAttributeValue reads it, of whichever type its name is declared
// with. Filters may have it, and what a client enqueues; a store takes no job that has it.
func TextValue(text string) AttributeValue { return AttributeValue{AttributeText, text} }

// As is the value as one of a declared type: that which a text says, or else the value itself. The
// error is ErrInvalid.
func (v AttributeValue) As(declared AttributeType) (AttributeValue, error) {
	if v.Type == AttributeText {
		return ParseAttributeValue(declared, v.Data)
	}
	return v, nil
}

const signBit = 1 << 63

func ordered(bits uint64) string { return string(binary.BigEndian.AppendUint64(nil, bits)) }

func (v AttributeValue) bits() uint64 { return binary.BigEndian.Uint64([]byte(v.Data)) }

// Check reports why there is no such value, an ErrInvalid.
func (v AttributeValue) Check() error {
	if problem := v.problem(); problem != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	return nil
}

// problem says why there is no such value; "" if there is.
func (v AttributeValue) problem() string {
	size := 8
	switch v.Type {
	case AttributeKeyword:
		if v.Data == "" || len(v.Data) > MaxKeyword || !isText(v.Data) {
			return fmt.Sprintf("the keyword %.60q has %d bytes, which is not 1 to %d, or is not valid UTF-8 or contains NUL",
				v.Data, len(v.Data), MaxKeyword)
		}
		return ""
	case AttributeBool:
		if v.Data == "\x00" || v.Data == "\x01" {
			return ""
		}
		size = -1
	case AttributeInt, AttributeFloat, AttributeTime:
	case 0:
		return "there is no value"
	default:
		return fmt.Sprintf("a value of the unknown type %d", v.Type)
	}
	if len(v.Data) != size {
		return fmt.Sprintf("%x is no value of type %s", v.Data, v.Type)
	}
	if f, is := v.Any().(float64); is && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return fmt.Sprintf("%v is not a finite number", f)
	}
	if t, is := v.Any().(time.Time); is && !isTime(t) {
		return "a time is not between the years 1 and 9999"
	}
	return ""
}

// Any is the value, which Check accepts or which is a text, as a string, an int64, a float64, a
// bool or a time.Time, which is in UTC; nil if it is none.
func (v AttributeValue) Any() any {
	switch v.Type {
	case AttributeKeyword, AttributeText:
		return v.Data
	case AttributeInt, AttributeFloat, AttributeTime:
		if len(v.Data) != 8 {
			return nil
		}
	default:
	}
	switch v.Type {
	case AttributeInt:
		return int64(v.bits() ^ signBit)
	case AttributeFloat:
		bits := v.bits()
		if bits&signBit != 0 {
			return math.Float64frombits(bits ^ signBit)
		}
		return math.Float64frombits(^bits)
	case AttributeBool:
		return v.Data == "\x01"
	case AttributeTime:
		return time.UnixMicro(int64(v.bits() ^ signBit)).UTC()
	default:
		return nil
	}
}

// String writes the value as ParseAttributeValue reads it; "" if it is none.
func (v AttributeValue) String() string {
	switch value := v.Any().(type) {
	case string:
		return value
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	case time.Time:
		return value.Format(time.RFC3339Nano)
	default:
		return ""
	}
}

// valueExamples are texts that ParseAttributeValue reads.
var valueExamples = map[AttributeType]string{
	AttributeInt: "-7", AttributeFloat: "0.25", AttributeBool: "true or false", AttributeTime: "2026-01-31T17:30:00Z",
}

// ParseAttributeValue reads a value of a type: a time is written by RFC 3339. The error is
// ErrInvalid.
func ParseAttributeValue(t AttributeType, text string) (v AttributeValue, err error) {
	switch t {
	case AttributeKeyword:
		v = KeywordValue(text)
	case AttributeInt:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v = IntValue(n)
	case AttributeFloat:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v = FloatValue(f)
	case AttributeBool:
		if text != "true" && text != "false" {
			err = ErrInvalid
		}
		v = BoolValue(text == "true")
	case AttributeTime:
		var at time.Time
		at, err = time.Parse(time.RFC3339Nano, text)
		v = TimeValue(at)
	default:
		return v, fmt.Errorf("%w: a value of the unknown type %d", ErrInvalid, t)
	}
	if err != nil {
		return AttributeValue{}, fmt.Errorf("%w: %.60q is no value of type %s, such as %s", ErrInvalid, text, t, valueExamples[t])
	}
	if err := v.Check(); err != nil {
		return AttributeValue{}, err
	}
	return v, nil
}

// valueJSON is how a value is written as JSON.
type valueJSON struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// MarshalJSON implements json.Marshaler; no value is null.
func (v AttributeValue) MarshalJSON() ([]byte, error) {
	if v == (AttributeValue{}) {
		return []byte("null"), nil
	}
	if !utf8.ValidString(v.String()) {
		return nil, v.Check()
	}
	return json.Marshal(valueJSON{v.Type.String(), v.String()})
}

// UnmarshalJSON implements json.Unmarshaler. A string, which stands where the value is hidden from
// people, is a keyword.
func (v *AttributeValue) UnmarshalJSON(data []byte) error {
	*v = AttributeValue{}
	if string(data) == "null" {
		return nil
	}
	var hidden string
	if json.Unmarshal(data, &hidden) == nil {
		*v = KeywordValue(hidden)
		return nil
	}
	var in valueJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Type == AttributeText.String() {
		*v = TextValue(in.Text)
		return nil
	}
	t, err := ParseAttributeType(in.Type)
	if err != nil {
		return err
	}
	*v, err = ParseAttributeValue(t, in.Text)
	return err
}

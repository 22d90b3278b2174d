package api

import (
	"encoding/json"
	"strings"
	"testing"
)

type exactInner struct {
	On   string       `json:"on"`
	Deep []exactOuter `json:"deep,omitempty"`
}

type exactShared struct {
	Shared string `json:"shared"`
}

type exactOuter struct {
	exactShared

	Want  int                        `json:"want"`
	Inner *exactInner                `json:"inner,omitempty"`
	List  []exactInner               `json:"list,omitempty"`
	By    map[string]exactInner      `json:"by,omitempty"`
	Patch Patch[exactInner]          `json:"patch,omitzero"`
	Args  Payload                    `json:"args,omitempty"`
	Free  map[string]json.RawMessage `json:"free,omitempty"`
	Every Duration                   `json:"every,omitzero"`
}

// TestExact: what the rules of the document have not seen is not decoded, while JSON of the user's
// own may have what names it likes.
func TestExact(t *testing.T) {
	t.Parallel()
	for body, why := range map[string]string{
		`{}`: "", `{"want":1,"shared":"x","every":"1s"}`: "", "{ \"want\" : 1 ,\n\t\"list\" : [ { \"on\" : \"a\" } , {} ] }": "",
		`{"args":{"a":1,"A":2,"a":[{"b":"}\"]"},{"b":1,"b":2}]},"want":1}`: "", `{"free":{"a":{"x":1,"X":2},"A":1}}`: "",
		`{"inner":null,"list":null,"want":1}`: "", `{"patch":null}`: "", `{"w\u0061nt":1}`: "", `{"args":"want\",\"WANT\":","want":1}`: "",
		`{"by":{"a":{"on":"x"},"A":{"on":"y"}}}`:               "",
		`{"WANT":1}`:                                           `no field "WANT"`,
		`{"want":1,"Want":2}`:                                  `no field "Want"`,
		`{"want":1,"want":2}`:                                  `"want" is there twice`,
		`{"want":1,"w\u0061nt":2}`:                             `"want" is there twice`,
		`{"args":{"want":[1,{}]},"want":1,"args":1}`:           `"args" is there twice`,
		`{"Shared":"x"}`:                                       `no field "Shared"`,
		`{"inner":{"on":"x"},"inner":{}}`:                      `"inner" is there twice`,
		`{"inner":{"on":"x","ON":"y"}}`:                        `no field "ON"`,
		`{"list":[{"on":"x"},{"on":"x","On":"y"}]}`:            `no field "On"`,
		`{"by":{"a":{"ON":"x"}}}`:                              `no field "ON"`,
		`{"patch":{"ON":"x"}}`:                                 `no field "ON"`,
		`{"inner":{"deep":[{"inner":{"deep":[{"WANT":1}]}}]}}`: `no field "WANT"`,
	} {
		err := unmarshal([]byte(body), &exactOuter{})
		if is := err == nil; is != (why == "") || !is && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, not %q", body, err, why)
		}
		var untyped any
		if err := unmarshal([]byte(body), &untyped); err != nil {
			t.Errorf("%s without a type: %v", body, err)
		}
	}
	for _, body := range []string{`{"want":1`, `{"list":[{]}`, `[}`, `{"inner":[1]}`, `{"want"`, `{"list":{}}`, "", `{"a":}`} {
		if unmarshal([]byte(body), &exactOuter{}) == nil {
			t.Errorf("%s is taken", body)
		}
	}
}

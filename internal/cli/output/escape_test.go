package output

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestHarmlessJSON: the escaped JSON has the same value.
func TestHarmlessJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "\u009b31m", "a\u202eb\u200b", "\x7f", "\U000e0041\U0001d173 👍", "é\u2028"} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		safe := harmless(bytes.TrimSpace(b.Bytes()))
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || back != text {
			t.Errorf("%q became %s, %q, %v", text, safe, back, err)
		}
		for _, r := range string(safe) {
			if IsControl(r) || isInvisible(r) {
				t.Errorf("%s holds %U", safe, r)
			}
		}
	}
}

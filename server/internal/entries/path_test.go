package entries

import (
	"strings"
	"testing"
)

// TestPaths: which texts are paths of entries.
func TestPaths(t *testing.T) {
	t.Parallel()
	for path, is := range map[string]bool{
		"1": true, "12": true, "2.1": true, "2.1.30": true, "4:1.1": true, "4+2:1.1": true, "2.4+2:13.1": true, "999999999": true,
		"": false, "0": false, "01": false, "1.": false, ".1": false, "1..2": false, "a": false, "-1": false, "4:1": false,
		"4+2": false, "4+2.1": false, "~1": false, "~1.1": false, "1000000000": false, "1\n": false, "١": false,
		strings.Repeat("1.", 100) + "1": false,
	} {
		if why := wrongPath(path, true); (why == "") != is {
			t.Errorf("%q: %q", path, why)
		}
	}
	if wrongPath("", false) != "" || wrongPath("1", false) == "" {
		t.Error("an entry that stands nowhere has no path")
	}
}

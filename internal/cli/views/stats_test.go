package views

import "testing"

// TestPerSecond: a rate is told in digits, however large it is.
func TestPerSecond(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{
		0: "0", 0.000274: "0.000274", 1.5: "1.5", 12.345: "12.3", 99.96: "100", 123.4: "123", 12345.6: "12346",
	} {
		if got := perSecond(rate); got != want {
			t.Errorf("%v is %s, want %s", rate, got, want)
		}
	}
}

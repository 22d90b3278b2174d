package store

import "testing"

func TestServedAs(t *testing.T) {
	list := []string{"mail", "tenant-*", "tenant-big-*", "tenant-one"}
	for queue, want := range map[string]string{
		"mail": "mail", "mails": "", "tenant-": "tenant-*", "tenant-1": "tenant-*", "tenant-big-1": "tenant-big-*", "tenant-big": "tenant-*",
		"tenant-one": "tenant-one", "tenant": "", "tenant-*": "tenant-*", "": "",
	} {
		if got, ok := ServedAs(list, queue); got != want || ok != (want != "") {
			t.Errorf("%q is served as %q (%t), want %q", queue, got, ok, want)
		}
	}
	if got, ok := ServedAs(nil, "mail"); got != "" || !ok {
		t.Errorf("without any queue mail is served as %q: %t", got, ok)
	}
	if got, ok := ServedAs([]string{"*"}, "mail"); got != "*" || !ok {
		t.Errorf("of all queues mail is served as %q: %t", got, ok)
	}
}

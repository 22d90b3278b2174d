package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestAttributes: search attributes are declared, set and asked for, shown and hidden, and deleted;
// mistakes say what to do.
func TestAttributes(t *testing.T) {
	s := newShell(t)
	s.expect(s.run("attribute", "declare", "amount", "--type", "number"), 64, "must be keyword, int, float, bool or time")
	s.expect(s.run("attribute", "declare", "1a"), 64, "begins with a letter or _")
	s.expect(s.run("job", "list", "--attr", "=x"), 64, "must be NAME=VALUE")
	s.expect(s.run("job", "enqueue", "order", "--attr", "amount"), 64, "must be NAME=VALUE")
	s.ok("migrate", "up")
	s.ok("attribute", "declare", "customer", "token")
	s.holds(s.ok("attribute", "declare", "amount", "--type", "int", "-o", "json"), `"name": "amount"`, `"type": "int"`)
	s.expect(s.run("attribute", "declare", "amount", "--type", "float"), 64, "declared as int, and not as float: "+
		"give it that type, or use another name (holdfast attribute delete amount removes it")
	for args, want := range map[string]string{
		"-o id": "amount\ncustomer\ntoken\n", "-o name": "attribute/amount\nattribute/customer\nattribute/token\n",
	} {
		if out := s.ok(append([]string{"attribute", "list"}, strings.Fields(args)...)...); out != want {
			t.Errorf("attribute list %s: %q, want %q", args, out, want)
		}
	}
	if found, _ := s.complete("attribute", "delete", ""); !slices.Equal(found, []string{"amount", "customer", "token"}) {
		t.Errorf("completed: %v", found)
	}
	s.expect(s.run("job", "enqueue", "order", "--attr", "nobody=x"), 64,
		"is not declared in namespace \"default\": declare it with holdfast attribute declare nobody --type TYPE")
	s.expect(s.run("job", "enqueue", "order", "--attr", "amount=many"), 64, `"many" is no value of type int, such as -7`)
	id := strings.TrimSpace(s.ok("job", "enqueue", "order", "--attr", "customer=acme", "--attr", "amount=-7", "--attr", "token=geheim", "-q"))
	other := strings.TrimSpace(s.ok("job", "enqueue", "order", "--attr", "customer=a=b", "--attr", "amount=10", "-q"))
	for filters, want := range map[string]string{
		"customer=acme": id, "amount<0": id, "amount<=-7": id, "amount>-7": other, "amount>=10": other, "customer=a=b": other, "token": id,
		"amount>=-7 amount<10": id, "customer=acme amount=10": "",
	} {
		args := []string{"job", "list", "-q"}
		for one := range strings.FieldsSeq(filters) {
			args = append(args, "--attr", one)
		}
		if got := strings.TrimSpace(s.ok(args...)); got != want {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
	}
	s.expect(s.run("job", "list", "--attr", "amount=x"), 64, `"x" is no value of type int`)
	s.expect(s.run("job", "count", "--attr", "nobody"), 64, "is not declared")
	s.holds(s.ok("job", "get", id, "-o", "table"), "attributes  ", "amount=-7, customer=acme, token=[redacted]")
	s.holds(s.ok("job", "get", id, "-o", "json"), `"text": "-7"`, `"type": "int"`, `"text": "acme"`, `"token": "[redacted]"`)
	s.holds(s.ok("job", "list", "-o", "json", "--redact", "customer"), `"customer": "[redacted]"`, `"text": "geheim"`)
	s.holds(s.ok("job", "cancel", "--state", "available", "--attr", "customer=acme", "-o", "json"), id)
	s.ok("schedule", "create", "nightly", "order", "--every", "1h", "--attr", "customer=acme")
	s.holds(s.ok("schedule", "get", "nightly", "-o", "table"), "customer=acme")
	s.ok("schedule", "update", "nightly", "--attr", "amount=3")
	s.holds(s.ok("schedule", "get", "nightly", "-o", "json"), `"text": "3"`, `"text": "acme"`)
	s.ok("job", "set", other, "--attr", "amount=3", "--remove-attr", "customer", "--reason", "moved")
	s.holds(s.ok("job", "get", other, "-o", "table"), "attributes  ", "amount=3\n", "moved")
	if got := strings.TrimSpace(s.ok("job", "list", "-q", "--attr", "amount=3", "--kind", "order")); got != other {
		t.Errorf("found by what was set: %q, want %q", got, other)
	}
	if got := s.ok("job", "list", "-q", "--attr", "customer=a=b"); got != "" {
		t.Errorf("found by what was removed: %q", got)
	}
	s.expect(s.run("job", "set", other, "--attr", "amount"), 64, "must be NAME=VALUE")
	s.expect(s.run("job", "set", other, "--remove-attr", "amount=3"), 64, "must be the NAME of a search attribute")
	s.expect(s.run("job", "set", other, "--attr", "amount=4", "--remove-attr", "amount"), 64, "--attr sets the same search attribute")
	s.expect(s.run("job", "set", other, "--remove-attr", "nobody"), 64, "is not declared")
	s.expect(s.run("job", "set", id, "--attr", "amount=4"), 1,
		"it is cancelled; of a finished job, only --tag and --metadata change something")
	s.holds(s.ok("attribute", "delete", "customer", "-o", "table"), "deleted attribute customer")
	s.expect(s.run("attribute", "delete", "customer"), 1, "not found")
}

// TestAttributesOfDeadLetters: dead letters are redriven, exported and purged by search attributes.
func TestAttributesOfDeadLetters(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.ok("attribute", "declare", "customer")
	s.ok("attribute", "declare", "amount", "--type", "int")
	node := s.start("dev")
	failed := map[string]string{}
	for _, customer := range []string{"acme", "other", "third"} {
		id := strings.TrimSpace(s.ok("job", "enqueue", "exec", `{"command":["false"]}`, "--max-attempts", "1",
			"--attr", "customer="+customer, "--attr", "amount=7", "-q"))
		s.expect(s.run("job", "wait", id), 1)
		failed[customer] = id
	}
	node.stop(t)
	exported := func(want int, args ...string) {
		t.Helper()
		if out := s.ok(append([]string{"dead", "export"}, args...)...); strings.Count(out, "\n") != want {
			t.Errorf("%v exports %s", args, out)
		}
	}
	exported(1, "--attr", "customer=acme")
	exported(3, "--attr", "amount>=7")
	exported(0, "--attr", "amount>7")
	exported(1, "--attr", "amount", "--attr", "customer=third")
	var groups []struct {
		Fingerprint string `json:"fingerprint"`
	}
	if err := json.Unmarshal([]byte(s.ok("dead", "list", "-o", "json")), &groups); err != nil || len(groups) != 1 {
		t.Fatalf("the groups: %v, %v", groups, err)
	}
	of := groups[0].Fingerprint
	for filters, want := range map[string]string{"customer=acme": failed["acme"], "amount<7": "", "customer=acme amount": failed["acme"]} {
		args := []string{"dead", "get", of, "-q"}
		for one := range strings.FieldsSeq(filters) {
			args = append(args, "--attr", one)
		}
		if got := strings.TrimSpace(s.ok(args...)); got != want {
			t.Errorf("dead get --attr %s: %q, want %q", filters, got, want)
		}
	}
	s.expect(s.run("dead", "get", of, "--attr", "nobody=x"), 64, "is not declared")
	s.holds(s.ok("dead", "redrive", "--attr", "customer=acme", "-o", "json"), failed["acme"])
	s.holds(s.ok("dead", "purge", "--attr", "customer=other", "-o", "json"), failed["other"])
	exported(1, "--all")
	s.expect(s.run("dead", "redrive", "--attr", "=x"), 64, "must be NAME=VALUE")
	for _, verb := range [][]string{{"redrive", "--yes"}, {"purge"}, {"export"}} {
		s.expect(s.run(append([]string{"dead", verb[0], "--attr", "nobody=x"}, verb[1:]...)...), 64, "is not declared")
	}
	s.expect(s.run("dead", "redrive", "--all", "--attr", "customer=third"), 64, "--all takes no")
}

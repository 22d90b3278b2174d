package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What follows parses the part of PromQL that the dashboard and the alerts use, and knows of each
// expression which labels its result may have. What it does not know it refuses.

// typed is what an expression is.
type typed struct {
	labels []string // nil: a number, or one series without labels
	ranged bool     // a range vector
	metric *Metric  // of a plain selector; nil: of another expression
}

func (t typed) has(label string) bool { return slices.Contains(t.labels, label) }

// check parses an expression, and returns why it is wrong.
func check(expr string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v, in %s", p, expr)
		}
	}()
	p := &parser{tokens: tokens(strings.ReplaceAll(expr, "$__rate_interval", "5m"))}
	p.binary(0)
	if p.peek() != "" {
		return fmt.Errorf("%q is left over, in %s", p.peek(), expr)
	}
	return nil
}

// tokens splits an expression.
func tokens(text string) (list []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		n := 1
		switch c := rune(text[0]); {
		case unicode.IsLetter(c) || c == '_' || unicode.IsDigit(c):
			for n < len(text) && (unicode.IsLetter(rune(text[n])) || unicode.IsDigit(rune(text[n])) || text[n] == '_' || text[n] == '.') {
				n++
			}
		case c == '"':
			end := strings.IndexByte(text[1:], '"')
			if end < 0 {
				panic("a text has no end")
			}
			n = end + 2
		case strings.ContainsRune("=!<>", c):
			for n < len(text) && strings.ContainsRune("=~", rune(text[n])) {
				n++
			}
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}

type parser struct{ tokens []string }

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	t := p.peek()
	if t == "" {
		panic("it ends too early")
	}
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) take(want string) {
	if t := p.next(); t != want {
		panic(fmt.Sprintf("%q is where %q should be", t, want))
	}
}

// operators, those that bind least first.
var operators = [][]string{{"or"}, {"and", "unless"}, {"==", "!=", "<", ">", "<=", ">="}, {"+", "-"}, {"*", "/"}}

func (p *parser) binary(level int) typed {
	if level == len(operators) {
		return p.primary()
	}
	left := p.binary(level + 1)
	for slices.Contains(operators[level], p.peek()) {
		op := p.next()
		right := p.binary(level + 1)
		switch {
		case left.ranged || right.ranged:
			panic(op + " of a range")
		case left.labels != nil && right.labels != nil && !same(left.labels, right.labels):
			panic(fmt.Sprintf("%s of the labels %v and %v matches nothing", op, left.labels, right.labels))
		case left.labels == nil:
			left.labels = right.labels
		}
		left.metric = nil
	}
	return left
}

func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

var aggregations = []string{"sum", "max", "min", "avg", "count"}

func (p *parser) primary() typed {
	t := p.next()
	if _, err := strconv.ParseFloat(t, 64); err == nil {
		return typed{}
	}
	switch {
	case t == "(":
		inner := p.binary(0)
		p.take(")")
		return inner
	case slices.Contains(aggregations, t):
		return p.aggregation()
	case t == "rate" || t == "increase":
		p.take("(")
		inner := p.binary(0)
		p.take(")")
		if !inner.ranged || inner.metric == nil || inner.metric.Kind == Gauge {
			panic(t + " is of the range of a counter or a histogram")
		}
		return typed{labels: inner.labels}
	case t == "histogram_quantile":
		return p.quantile()
	case t == "absent":
		p.take("(")
		p.binary(0)
		p.take(")")
		return typed{}
	}
	return p.selector(t)
}

func (p *parser) aggregation() typed {
	by := p.grouping()
	p.take("(")
	inner := p.binary(0)
	p.take(")")
	if by == nil {
		by = p.grouping()
	}
	if inner.ranged {
		panic("a range cannot be aggregated")
	}
	for _, label := range by {
		if !inner.has(label) {
			panic(fmt.Sprintf("by %s, which is none of %v", label, inner.labels))
		}
	}
	return typed{labels: by}
}

func (p *parser) grouping() (by []string) {
	if p.peek() != "by" {
		return nil
	}
	p.next()
	p.take("(")
	for {
		by = append(by, p.next())
		if p.peek() != "," {
			break
		}
		p.next()
	}
	p.take(")")
	return by
}

func (p *parser) quantile() typed {
	p.take("(")
	if f, err := strconv.ParseFloat(p.next(), 64); err != nil || f <= 0 || f >= 1 {
		panic("a quantile is between 0 and 1")
	}
	p.take(",")
	inner := p.binary(0)
	p.take(")")
	if !inner.has("le") {
		panic("a quantile needs the label le")
	}
	return typed{labels: slices.DeleteFunc(slices.Clone(inner.labels), func(l string) bool { return l == "le" })}
}

// selector is a metric of the list, with conditions about labels that it has.
func (p *parser) selector(name string) typed {
	m, labels := metricOf(name)
	if m == nil {
		panic(name + " is no metric")
	}
	if p.peek() == "{" {
		p.next()
		for p.peek() != "}" {
			label := p.next()
			if !slices.Contains(labels, label) {
				panic(fmt.Sprintf("%s has no label %s", name, label))
			}
			if op := p.next(); !slices.Contains([]string{"=", "!=", "=~", "!~"}, op) {
				panic("unknown condition " + op)
			}
			if v := p.next(); v[0] != '"' {
				panic(v + " is no text")
			}
			if p.peek() == "," {
				p.next()
			}
		}
		p.next()
	}
	ranged := p.peek() == "["
	if ranged {
		p.next()
		if d := p.next(); strings.Trim(d, "0123456789") == d || !strings.ContainsRune("smhd", rune(d[len(d)-1])) {
			panic(d + " is no duration")
		}
		p.take("]")
	}
	return typed{labels: labels, ranged: ranged, metric: m}
}

// metricOf is the metric that has a series of a name, and the labels of that.
func metricOf(name string) (*Metric, []string) {
	for _, m := range All() {
		labels := append([]string{}, m.Labels...)
		if m.Kind != Histogram {
			if name == m.Prometheus() {
				return m, labels
			}
			continue
		}
		switch name {
		case m.Prometheus() + "_bucket":
			return m, append(labels, "le")
		case m.Prometheus() + "_sum", m.Prometheus() + "_count":
			return m, labels
		}
	}
	return nil, nil
}

// checkValues checks what the values of a variable of the dashboard come from.
func checkValues(text string) error {
	inner, begins := strings.CutPrefix(text, "label_values(")
	inner, ends := strings.CutSuffix(inner, ")")
	if !begins || !ends || inner == "" {
		return fmt.Errorf("%s: %w", text, errors.New("it is no label_values"))
	}
	i := strings.LastIndex(inner, ", ")
	p := &parser{tokens: tokens(inner[:i])}
	if t := p.selector(p.next()); !t.has(inner[i+2:]) || len(p.tokens) > 0 {
		return fmt.Errorf("%s: it has no label %s", text, inner[i+2:])
	}
	return nil
}

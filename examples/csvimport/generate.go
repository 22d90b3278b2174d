package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"time"
)

// firstDay is when the sales of a generated file begin. They end a year later.
var firstDay = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// products and what one of them costs, more or less.
var products = []struct {
	name  string
	cents int
}{
	{"notebook, ruled", 349},
	{"notebook, plain", 329},
	{"pencil, HB", 79},
	{"fountain pen", 2490},
	{"ink, blue-black", 990},
	{"eraser", 59},
	{"ruler, 30 cm", 219},
	{"stapler", 1290},
	{"desk lamp", 3995},
	{"envelopes, 50", 449},
}

// fileOf returns the path of a file of sales in a directory, and writes the file if it is not
// there. What is in it depends on the number of rows and the seed alone.
func fileOf(dir string, rows int, seed uint64) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("sales-%d-%d.csv", rows, seed))
	if _, err = os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// As a whole: another process may be about the same, and this one may be killed.
	temp, err := os.CreateTemp(dir, "sales-*.tmp")
	if err != nil {
		return "", err
	}
	out := bufio.NewWriter(temp)
	err = errors.Join(generate(out, rows, seed), out.Flush(), temp.Chmod(0o644), temp.Close()) // it is made to be read
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return path, nil
}

// generate writes sales in the order of their days, to the people of all countries alike.
func generate(out io.Writer, rows int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	people := 0
	upTo := make([]int, len(countries))
	for i, c := range countries {
		people += c.thousands
		upTo[i] = people
	}
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return err
	}
	for i := range rows {
		buyer := countries[sort.SearchInts(upTo, 1+random.IntN(people))]
		product := products[random.IntN(len(products))]
		err := w.Write([]string{
			strconv.Itoa(i + 1),
			firstDay.AddDate(0, 0, i*365/rows).Format(time.DateOnly),
			buyer.code,
			product.name,
			strconv.Itoa(1 + random.IntN(40)),
			strconv.Itoa(product.cents * (90 + random.IntN(21)) / 100),
		})
		if err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

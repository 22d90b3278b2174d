package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// header is the first line of a file.
var header = []string{"id", "date", "country", "product", "quantity", "unit_cents"}

// Sale is one row of a file, and of the table.
type Sale struct {
	ID        int64
	Day       string
	Country   string
	Product   string
	Quantity  int64
	UnitCents int64
}

// Totals are what sales come to.
type Totals struct {
	Rows     int64 `json:"rows"`
	Quantity int64 `json:"quantity"`
	Cents    int64 `json:"cents"`
}

func (t *Totals) add(other Totals) {
	t.Rows += other.Rows
	t.Quantity += other.Quantity
	t.Cents += other.Cents
}

func (t *Totals) addSale(s *Sale) { t.add(Totals{1, s.Quantity, s.Quantity * s.UnitCents}) }

// Regional are the totals of a region.
type Regional struct {
	Region string `json:"region"`
	Totals
}

// largestFirst is the order of regions: the largest takes longest, and so begins first.
func largestFirst(a, b Regional) int {
	return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Region, b.Region))
}

// sumOf is what tells a file from any other, wherever it lies.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// survey adds a file up.
func survey(path string) ([]Regional, error) {
	in, err := openSales(path, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	byRegion := map[string]*Regional{}
	for {
		sale, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		region := continentOf[sale.Country]
		if byRegion[region] == nil {
			byRegion[region] = &Regional{Region: region}
		}
		byRegion[region].addSale(&sale)
	}
	var all []Regional
	for _, r := range byRegion {
		all = append(all, *r)
	}
	slices.SortFunc(all, largestFirst)
	return all, nil
}

// readChunk reads the next sales of a region from an offset of the file on, and returns where it
// stopped. It reads at most limit of them, and looks at no more than ten times as many lines, so
// that a chunk of a small region takes no longer than one of a large one.
func readChunk(path, region string, offset int64, limit int) (sales []Sale, next int64, err error) {
	in, err := openSales(path, offset)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	for lines := 0; lines < 10*limit && len(sales) < limit; lines++ {
		sale, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if continentOf[sale.Country] == region {
			sales = append(sales, sale)
		}
	}
	return sales, in.offset(), nil
}

// salesReader reads the sales of a file one by one.
type salesReader struct {
	*os.File

	csv   *csv.Reader
	begin int64
}

// openSales opens a file at the beginning, or where the offset of an earlier reader was.
func openSales(path string, offset int64) (*salesReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &salesReader{file, csv.NewReader(file), offset}
	r.csv.FieldsPerRecord, r.csv.ReuseRecord = len(header), true
	if offset > 0 {
		_, err = file.Seek(offset, io.SeekStart)
	} else {
		err = r.skipHeader()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

func (r *salesReader) skipHeader() error {
	line, err := r.csv.Read()
	if err == nil && !slices.Equal(line, header) {
		err = fmt.Errorf("%s begins with %q instead of %q", r.Name(), line, header)
	}
	return err
}

// offset is where the sale after the last one begins.
func (r *salesReader) offset() int64 { return r.begin + r.csv.InputOffset() }

// next returns the next sale, or io.EOF.
func (r *salesReader) next() (Sale, error) {
	at := r.offset()
	line, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return Sale{}, io.EOF
	}
	if err != nil {
		return Sale{}, fmt.Errorf("%s, from byte %d on: %w", r.Name(), at, err)
	}
	sale := Sale{Day: line[1], Country: line[2], Product: line[3]}
	for _, number := range []struct {
		text string
		to   *int64
	}{{line[0], &sale.ID}, {line[4], &sale.Quantity}, {line[5], &sale.UnitCents}} {
		if *number.to, err = strconv.ParseInt(number.text, 10, 64); err != nil {
			return Sale{}, fmt.Errorf("%s, the sale at byte %d: %w", r.Name(), at, err)
		}
	}
	if continentOf[sale.Country] == "" {
		return Sale{}, fmt.Errorf("%s, the sale at byte %d: there is no country %q", r.Name(), at, sale.Country)
	}
	return sale, nil
}

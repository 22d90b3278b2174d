package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

//go:embed countries.csv
var countriesCSV string

// country is where a sale may be made.
type country struct {
	code      string
	continent string
	thousands int // of people
}

// countries are all of them, by code; continentOf is the region that a country's sales belong to.
var countries, continentOf = mustReadCountries()

func mustReadCountries() (all []country, continents map[string]string) {
	in := csv.NewReader(strings.NewReader(countriesCSV))
	in.Comment = '#'
	lines, err := in.ReadAll()
	if err != nil {
		panic(fmt.Sprint("countries.csv: ", err))
	}
	continents = map[string]string{}
	for _, line := range lines[1:] {
		thousands, err := strconv.Atoi(line[3])
		if err != nil {
			panic(fmt.Sprint("countries.csv: ", err))
		}
		all = append(all, country{code: line[0], continent: line[2], thousands: thousands})
		continents[line[0]] = line[2]
	}
	return all, continents
}

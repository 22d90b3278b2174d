// Package config reads and changes files of settings, in the plain part of TOML: tables, and keys
// with texts, integers, true and false, and lists of texts. Whatever else TOML has is refused with
// the line, so every file that is read here means the same to any other reader of TOML. Files are
// changed line by line: what people wrote around a setting, such as comments, stays.
//
// It knows the file of contexts, which says where commands go.
//
// # Imports
//
// None of ours.
package config

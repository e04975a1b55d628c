// Package file has the commands about names and attributes of files: ls, find, cp,
// stat and the like.
package file

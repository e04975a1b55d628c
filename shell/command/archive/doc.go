// Package archive has the commands that pack and unpack: tar, zip, gzip, bzip2, xz.
package archive

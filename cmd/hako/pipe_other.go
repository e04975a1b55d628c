//go:build !unix

package main

func outliveReader() {}

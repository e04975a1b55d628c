//go:build !unix

package main

func outliveReader() {}

func readerGone(error) bool { return false }

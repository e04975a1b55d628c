//go:build !linux

package queue

func fullDisk(string) {}

package config

import (
	"fmt"
	"strconv"

	"hako/quota"
)

// A Size is a number of bytes.
type Size int64

// String returns it as it is written in the settings: 2GB, 1536KB, 100.
func (n Size) String() string {
	for i, unit := range []string{"TB", "GB", "MB", "KB"} {
		if whole := Size(1) << (10 * (4 - i)); n >= whole && n%whole == 0 {
			return strconv.FormatInt(int64(n/whole), 10) + unit
		}
	}
	return strconv.FormatInt(int64(n), 10)
}

// sizeFrom reads a size within a range.
func sizeFrom(low, high Size) func(setting) (Size, error) {
	return func(s setting) (Size, error) {
		n, err := quota.ParseSize(s.words[0])
		if err != nil || Size(n) < low || Size(n) > high {
			return 0, fmt.Errorf("%q is not a size from %v to %v", s.words[0], low, high)
		}
		return Size(n), nil
	}
}

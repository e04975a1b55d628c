package awk

import (
	"math"
	"math/rand/v2"
)

// random is a generator that repeats itself for the same seed.
type random struct {
	src  *rand.Rand
	last float64 // the seed
}

// seed starts over and returns the seed before.
func (r *random) seed(n float64) float64 {
	was := r.last
	r.last = n
	r.src = rand.New(rand.NewPCG(math.Float64bits(n), 0))
	return was
}

// next returns a number from 0 up to but not including 1.
func (r *random) next() float64 { return r.src.Float64() }

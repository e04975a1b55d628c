package archive

import (
	"context"
	"slices"
)

// A bwtSorter sorts all rotations of a block by doubling: after round k they
// are sorted by their first 2^k bytes. That takes n log n steps for any data, so
// no hostile block can take longer.
type bwtSorter struct{ order, rank, next, count []int32 }

// transform returns the last byte of every rotation in order, and the
// index of the block itself among them.
func (s *bwtSorter) transform(ctx context.Context, block []byte) (last []byte, origin int, err error) {
	n := len(block)
	s.prepare(block)
	for width := 1; width < n; width *= 2 {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if s.double(int32(n), int32(width)) == n {
			break
		}
	}
	last = make([]byte, n)
	for i, at := range s.order[:n] {
		if at == 0 {
			origin = i
			at = int32(n)
		}
		last[i] = block[at-1]
	}
	return last, origin, nil
}

// prepare sorts by the first byte.
func (s *bwtSorter) prepare(block []byte) {
	n := len(block)
	if len(s.order) < n {
		s.order, s.rank, s.next = make([]int32, n), make([]int32, n), make([]int32, n)
		s.count = make([]int32, max(n, 256)+1)
	}
	clear(s.count)
	for _, ch := range block {
		s.count[int(ch)+1]++
	}
	for i := 1; i <= 256; i++ {
		s.count[i] += s.count[i-1]
	}
	start := [256]int32{}
	for ch := range start {
		start[ch] = s.count[ch]
	}
	for i, ch := range block {
		s.rank[i] = start[ch]
		s.order[s.count[ch]] = int32(i)
		s.count[ch]++
	}
}

// double refines the order from width to twice that and returns how many
// classes of equal rotations are left. A rotation's rank is where its class
// begins, so that count serves as the next free index of each class.
func (s *bwtSorter) double(n, width int32) (classes int) {
	for i := range n {
		s.count[i] = i
	}
	for _, at := range s.order[:n] {
		from := at - width
		if from < 0 {
			from += n
		}
		r := s.rank[from]
		s.next[s.count[r]] = from
		s.count[r]++
	}
	copy(s.order, s.next[:n])
	second := func(at int32) int32 {
		if at += width; at >= n {
			at -= n
		}
		return s.rank[at]
	}
	var begin int32
	for i := range n {
		at := s.order[i]
		if i == 0 || s.rank[at] != s.rank[s.order[i-1]] || second(at) != second(s.order[i-1]) {
			begin = i
			classes++
		}
		s.next[at] = begin
	}
	s.rank, s.next = s.next, s.rank
	return classes
}

// writeCoded writes symbols with up to six Huffman tables, the best one for
// every fifty symbols, improved in four passes.
func writeCoded(bits *bzip2Bits, symbols []uint16) {
	alphabet := int(symbols[len(symbols)-1]) + 1
	tables := startTables(symbols, alphabet)
	var picks []uint8
	for range 4 {
		picks = picks[:0]
		freq := make([][]int, len(tables))
		for t := range freq {
			freq[t] = make([]int, alphabet)
		}
		for at := 0; at < len(symbols); at += 50 {
			group := symbols[at:min(at+50, len(symbols))]
			best := cheapest(tables, group)
			picks = append(picks, best)
			for _, s := range group {
				freq[best][s]++
			}
		}
		for t := range tables {
			tables[t] = codeLengths(freq[t])
		}
	}
	writeTables(bits, tables, picks)
	codes := make([][]uint32, len(tables))
	for t := range tables {
		codes[t] = canonical(tables[t])
	}
	for i, s := range symbols {
		t := picks[i/50]
		bits.put(uint64(codes[t][s]), uint(tables[t][s]))
	}
}

// startTables cuts the alphabet into ranges that occur about equally often;
// each table begins by preferring one range.
func startTables(symbols []uint16, alphabet int) [][]uint8 {
	count := 2
	for _, least := range []int{200, 600, 1200, 2400} {
		if len(symbols) >= least {
			count++
		}
	}
	freq := make([]int, alphabet)
	for _, s := range symbols {
		freq[s]++
	}
	tables := make([][]uint8, count)
	at, seen := 0, 0
	for t := range tables {
		tables[t] = make([]uint8, alphabet)
		for s := range tables[t] {
			tables[t][s] = 15
		}
		for at < alphabet && (seen < len(symbols)*(t+1)/count || t == count-1) {
			tables[t][at] = 1
			seen += freq[at]
			at++
		}
	}
	return tables
}

func cheapest(tables [][]uint8, group []uint16) uint8 {
	best, least := 0, 1<<30
	for t, lengths := range tables {
		cost := 0
		for _, s := range group {
			cost += int(lengths[s])
		}
		if cost < least {
			best, least = t, cost
		}
	}
	return uint8(best)
}

// writeTables writes which table each group uses, moved to front in unary, and
// the code lengths as steps up and down.
func writeTables(bits *bzip2Bits, tables [][]uint8, picks []uint8) {
	bits.put(uint64(len(tables)), 3)
	bits.put(uint64(len(picks)), 15)
	front := []uint8{0, 1, 2, 3, 4, 5}
	for _, t := range picks {
		at := 0
		for front[at] != t {
			at++
			bits.put(1, 1)
		}
		bits.put(0, 1)
		copy(front[1:at+1], front[:at])
		front[0] = t
	}
	for _, lengths := range tables {
		now := lengths[0]
		bits.put(uint64(now), 5)
		for _, l := range lengths {
			for ; now < l; now++ {
				bits.put(2, 2)
			}
			for ; now > l; now-- {
				bits.put(3, 2)
			}
			bits.put(0, 1)
		}
	}
}

// canonical gives symbols codes in order of length and number.
func canonical(lengths []uint8) []uint32 {
	codes := make([]uint32, len(lengths))
	var code uint32
	for l := uint8(1); l <= 20; l++ {
		for s, have := range lengths {
			if have == l {
				codes[s] = code
				code++
			}
		}
		code <<= 1
	}
	return codes
}

// codeLengths makes a Huffman code of at most 17 bits; every symbol gets one,
// as the format demands. Too long a code is flattened by halving the counts.
func codeLengths(freq []int) []uint8 {
	weights := make([]int, len(freq))
	for s, f := range freq {
		weights[s] = max(f, 1)
	}
	for {
		lengths, longest := huffman(weights)
		if longest <= 17 {
			return lengths
		}
		for s := range weights {
			weights[s] = weights[s]/2 + 1
		}
	}
}

// huffman builds the tree from two queues, leaves and inner nodes, both in order of
// their weights.
func huffman(weights []int) (lengths []uint8, longest uint8) {
	n := len(weights)
	leaves := make([]int, n)
	for s := range leaves {
		leaves[s] = s
	}
	slices.SortStableFunc(leaves, func(a, b int) int { return weights[a] - weights[b] })
	weight, parent := append(slices.Clone(weights), make([]int, n)...), make([]int, 2*n)
	next, inner := n, n // the next node to make, and the first one without a parent
	lightest := func() (node int) {
		if len(leaves) > 0 && (inner == next || weight[leaves[0]] <= weight[inner]) {
			node, leaves = leaves[0], leaves[1:]
			return node
		}
		inner++
		return inner - 1
	}
	for ; next < 2*n-1; next++ {
		a, b := lightest(), lightest()
		weight[next] = weight[a] + weight[b]
		parent[a], parent[b] = next, next
	}
	depth := make([]uint8, next)
	for node := next - 2; node >= 0; node-- {
		depth[node] = depth[parent[node]] + 1
	}
	return depth[:n], slices.Max(depth[:n])
}

package main

// modelFlags are the flags of every command that asks a model.
type modelFlags struct {
	model  string
	record string
	stats  bool
	json   bool
}

// Guest is the program inside the containers of tests: the part of hako that serves there, without the rest.
package main

import (
	"os"

	"hako/container/guest/server"
)

func main() {
	server.Main(os.Args[0], os.Args[1:])
	os.Exit(2)
}

package main

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsSettings configure one server.
type natsSettings struct {
	Name   string
	Dir    string
	Port   int
	Meet   int   // port for the other servers
	Others []int // ports of all servers for each other; nil means that it is alone

	Profile string // a file for a profile; empty means none
}

// A natsReport is the traffic of a server.
type natsReport struct {
	Messages, Bytes int64 // from clients
	Between         int64 // bytes from other servers
}

// runNATS runs one server of a queue.
func runNATS(words string) error {
	var s natsSettings
	ended, err := serve(words, &s)
	if err != nil {
		return err
	}
	srv, err := server.NewServer(s.options())
	if err != nil {
		return err
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("server %s does not start", s.Name)
	}
	if err := writeReport(struct{}{}); err != nil {
		return err
	}
	defer profiled(s.Profile)()
	<-ended
	v, err := srv.Varz(nil)
	if err != nil {
		return err
	}
	return writeReport(natsReport{v.InClientMsgs, v.InClientBytes, v.InBytes - v.InClientBytes})
}

func (s natsSettings) options() *server.Options {
	o := &server.Options{ServerName: s.Name, Host: "127.0.0.1", Port: s.Port, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: s.Dir, SyncInterval: time.Second}
	if s.Others == nil {
		return o
	}
	o.Cluster = server.ClusterOpts{Name: "scale", Host: "127.0.0.1", Port: s.Meet}
	for _, port := range s.Others {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return o
}

// A cluster is a number of servers in processes of their own.
type cluster struct {
	nodes []*child
	url   string
}

// newCluster starts servers that store everything below a directory. Profiles of them
// go to another; empty means none.
func newCluster(dir, profiles string, n int) (*cluster, error) {
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	c, urls := &cluster{}, []string(nil)
	for i := range n {
		s := natsSettings{Name: fmt.Sprint("n", i), Dir: fmt.Sprintf("%s/n%d", dir, i), Port: ports[i], Meet: ports[n+i]}
		if profiles != "" {
			s.Profile = fmt.Sprintf("%s/nats-%d-%d.pprof", profiles, i, time.Now().Unix())
		}
		if n > 1 {
			s.Others = ports[n:]
		}
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", s.Port))
		node, err := start("nats", s, &struct{}{})
		if err != nil {
			c.kill()
			return nil, err
		}
		c.nodes = append(c.nodes, node)
	}
	c.url = strings.Join(urls, ",")
	return c, nil
}

// end ends the servers and adds up their reports.
func (c *cluster) end() (sum natsReport, err error) {
	for _, node := range c.nodes {
		var one natsReport
		if e := node.end(&one); e != nil && err == nil {
			err = e
		}
		sum = natsReport{sum.Messages + one.Messages, sum.Bytes + one.Bytes, sum.Between + one.Between}
	}
	return sum, err
}

func (c *cluster) kill() {
	for _, node := range c.nodes {
		node.kill()
	}
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

package queue

func child(string) {}

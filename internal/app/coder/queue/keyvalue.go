package queue

import "context"

// A KeyValue stores small values beside the tasks, for all who use the queue. A value
// must fit into one message of the server, which is 1 MB by default.
type KeyValue struct {
	q    *Queue
	name string
}

// KeyValue returns the key-value store with a name. Stores do not share keys.
func (q *Queue) KeyValue(name string) *KeyValue { return &KeyValue{q, name} }

func (s *KeyValue) subject(k string) string {
	return "$KV." + s.q.keyValuesName() + "." + key(s.name) + "." + key(k)
}

// Get returns the value of a key; nil if there is none. In a cluster it may be slightly
// old.
func (s *KeyValue) Get(ctx context.Context, key string) (value []byte, err error) {
	err = s.q.retry(ctx, "read shelf", key, func(ctx context.Context) (err error) {
		value, _, err = getValue(ctx, s.q.values, s.subject(key))
		return err
	})
	return value, err
}

// Change replaces the value of a key with what do returns for it, atomically. Do is
// called again if the value changed meanwhile, and also if a response got lost: then
// with its own result. Nil leaves the value as it is.
func (s *KeyValue) Change(ctx context.Context, key string, do func(value []byte) ([]byte, error)) error {
	var refused error
	err := s.q.retry(ctx, "change shelf", key, func(ctx context.Context) error {
		value, revision, err := getValue(ctx, s.q.values, s.subject(key))
		if err != nil {
			return err
		}
		next, err := do(value)
		if refused = err; err != nil || next == nil {
			return nil
		}
		_, err = s.q.putValue(ctx, s.subject(key), revision, next)
		return err
	})
	if refused != nil {
		return refused
	}
	return err
}

package queue
import ("testing";"time";"context";"fmt";"sync";"encoding/json")
func TestDbg(t *testing.T){
 q := opened(t, Options{})
 var wg sync.WaitGroup
 start:=time.Now()
 for w:=range 8 { wg.Go(func(){ for i:=range 250 {
   p0:=time.Now()
   f,e:=q.Put(t.Context(),Item{ID:fmt.Sprint(w,"-",i),Payload:json.RawMessage(`{}`)})
   if i<2 {fmt.Println("put",f,e)}; p1:=time.Now()
   ctx,c:=context.WithTimeout(t.Context(),8*time.Second)
   l,err:=q.Take(ctx); c()
   p2:=time.Now()
   if err!=nil { fmt.Println(w,i,err); cons,_:=q.work.Consumer(t.Context(),consumerName)
 ci:=cons.CachedInfo();fmt.Println(ci.NumPending,ci.NumAckPending,ci.NumRedelivered,ci.NumWaiting,ci.Delivered,ci.AckFloor); return}
   l.Done(t.Context(),nil)
   if d:=time.Since(p0); d>200*time.Millisecond { fmt.Println(w,i,p1.Sub(p0),p2.Sub(p1),time.Since(p2)) }
 }})}
 wg.Wait()
 fmt.Println(time.Since(start))
}

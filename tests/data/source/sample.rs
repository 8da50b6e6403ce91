use std::x;
pub struct P { x: i32 }
struct U(i32);
impl<'a> Foo<'a> for P {
    fn new(c: char) -> Self { if c == '{' { } }
    pub(crate) async fn go<'b>(&'b self) {}
}
trait Tr { fn req(&self); fn opt(&self) {} }
mod tests {
    #[test]
    fn it() { let s = r#"{"#; }
}
pub fn last() {}

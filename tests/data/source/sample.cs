using System;
namespace A.B
{
    public class Foo : Bar
    {
        public int X { get; set; }
        public Foo() : base() { }
        public async Task<int> RunAsync(string s)
        {
            foreach (var x in y) { }
        }
    }
    public enum E { A }
}

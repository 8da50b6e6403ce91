package a.b;
import c.D;
@Deprecated
public abstract class Foo<T extends Bar> implements Baz {
    private final String s = "}{";
    public Foo(int a) { this.a = a; }
    @Override
    public List<Map<String, Integer>> get(int x) throws IOException {
        if (x > 1) { return null; }
    }
    abstract void none();
    enum Kind { A, B }
    interface Inner { default void go() { } }
}
record Point(int x, int y) { }

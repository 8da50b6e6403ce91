package a
data class P(val x: Int, val y: Int)
class Foo : Bar() {
    override fun go(x: Int): Int = x + 1
    companion object {
        fun of() { }
    }
    suspend fun <T> run(a: T) {
    }
}
fun String.ext() = 1
object Single { }

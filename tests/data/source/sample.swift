import F
public struct S: P {
    init(x: Int) { }
    func go<T>(_ a: T) -> Int {
        return 1
    }
    class func make() -> S { S() }
}
extension S { func more() {} }
func top() {}

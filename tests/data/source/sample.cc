#include <stdio.h>
#define M(x) do { \
  x } while (0)
struct point {
    int x;
};
static int helper(int a);
struct point *make(void);
static int
add(int a, int b)
{
    if (a) { return 1; }
    return a + b;
}
int main(int argc, char **argv) {
#ifdef X
    if (x) {
#else
    if (y) {
#endif
    }
    return 0;
}
typedef struct node { int v; } node_t;
static const struct ops my_ops = {
    .open = foo,
};
namespace ns {
class Widget : public Base {
 public:
  Widget() {}
  ~Widget();
  void draw(int x) const { }
};
template <typename T> T max(T a, T b) { return a; }
}
void ns::Widget::paint() { }

import x from "y";
/** doc { */
export default class Foo extends Bar {
  #priv = 1;
  constructor(a) { super(a); }
  async load(x) {
    if (x) { return `a{${x}`; }
    const inner = () => { 1 };
  }
  static get value() { return /[{]"/.test("}"); }
}
export function top(a, b) {
  function nested() {}
}
const arrow = async (a) => {
  return 1;
};
interface Shape<T> { area(): number }
export const enum Color { Red }
describe("x", () => {
  function helper() {}
});
function last() {}

/** Copies the array to at least twice its length, so that growth takes constant amortized time. */
export function enlarged(array: Int32Array, least: number): Int32Array<ArrayBuffer> {
  let length = array.length * 2
  while (length < least) length *= 2
  const larger = new Int32Array(length)
  larger.set(array)
  return larger
}

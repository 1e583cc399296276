/** At least twice as long, so that growing costs the same for each member in the end. */
export function enlarged(array: Int32Array, least: number): Int32Array<ArrayBuffer> {
  let length = array.length * 2
  while (length < least) length *= 2
  const larger = new Int32Array(length)
  larger.set(array)
  return larger
}

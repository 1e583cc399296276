/** Items in buckets: those of bucket `b` from `start[b]` to the next. */
export interface Buckets {
  readonly items: Int32Array<ArrayBuffer>
  readonly start: Int32Array
}

/** Keeps the order of the items within each bucket; an item whose bucket is below 0 is in none. */
export function intoBuckets(
  bucketOf: ArrayLike<number>,
  items: ArrayLike<number>,
  buckets: number,
): Buckets {
  const start = new Int32Array(buckets + 1)
  for (let index = 0; index < items.length; index += 1) {
    const bucket = bucketOf[items[index]!]!
    if (bucket >= 0) start[bucket + 1]! += 1
  }
  for (let bucket = 0; bucket < buckets; bucket += 1) start[bucket + 1]! += start[bucket]!
  const next = start.slice()
  const grouped = new Int32Array(start[buckets]!)
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index]!
    const bucket = bucketOf[item]!
    if (bucket < 0) continue
    grouped[next[bucket]!] = item
    next[bucket]! += 1
  }
  return { items: grouped, start }
}

export function numbersTo(count: number): Int32Array {
  const numbers = new Int32Array(count)
  for (let number = 0; number < count; number += 1) numbers[number] = number
  return numbers
}

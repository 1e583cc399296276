/** Bytes, on the heap and in buffers, that are held for as long as the result is. */
export function weigh(work: () => object): number {
  const before = memoryInUse()
  const held = [work()]
  const after = memoryInUse()
  held.length = 0
  return after - before
}

function memoryInUse(): number {
  if (globalThis.gc === undefined)
    throw new Error('memory cannot be weighed; start node with `--expose-gc`')
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

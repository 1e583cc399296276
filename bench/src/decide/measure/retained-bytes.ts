import { collectGarbage } from './collect-garbage.ts'
import { quantile } from '../../figures/range.ts'

const READINGS = 5

/**
 * Returns the bytes, on the heap and in buffers, that the result of `work` retains. The median of
 * five readings, because V8 sometimes allocates objects of its own during a reading.
 */
export function retainedBytesOf(work: () => object): number {
  const readings = Array.from({ length: READINGS }, () => readOnce(work))
  return quantile(readings, 0.5)
}

function readOnce(work: () => object): number {
  const before = memoryInUse()
  const held = [work()]
  const after = memoryInUse()
  held.length = 0
  return after - before
}

function memoryInUse(): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

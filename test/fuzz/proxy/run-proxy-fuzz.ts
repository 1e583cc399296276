import { createRandom } from '../../../bench/src/workload/random.ts'
import { checkFlight, checkHead, checkParts, checkSocks, type Check } from './check-bytes.ts'
import { drawBytes } from './draw-bytes.ts'

/** Node builds a server for each case, so only every eighth is compared with it. */
const NODE_SHARE = 8

export interface ProxyFuzzOptions {
  /** Seed of the first case. Each later case adds one. */
  readonly seed: number
  readonly cases: number
  /** Called after each thousandth case. */
  readonly onProgress?: (cases: number) => void
}

/** The first case that breaks a law. */
export interface BrokenLaw {
  readonly seed: number
  readonly law: string
  readonly bytes: Buffer
}

/** Reads drawn bytes with each parser of the proxy until one of its laws is broken. */
export async function runProxyFuzz(options: ProxyFuzzOptions): Promise<BrokenLaw | null> {
  const { seed, cases, onProgress } = options
  for (let count = 0; count < cases; count += 1) {
    const random = createRandom(seed + count)
    const drawn = drawBytes(random)
    const checks: Check[] = [checkFlight, checkParts, checkSocks]
    if (count % NODE_SHARE === 0) checks.push(checkHead)
    for (const check of checks) {
      const law = await answerOf(check, () => check(drawn, random))
      if (law !== null) return { seed: seed + count, law, bytes: drawn.bytes }
    }
    if (count % 1000 === 999) onProgress?.(count + 1)
  }
  return null
}

async function answerOf(check: Check, run: () => ReturnType<Check>): Promise<string | null> {
  try {
    return await run()
  } catch (error) {
    return `${check.name} threw ${String(error)}`
  }
}

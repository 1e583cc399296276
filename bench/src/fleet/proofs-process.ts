import { createReplayGuard } from '../../../server/src/identity/device/replay-guard.ts'

/** The capacity of a replay guard, and the number of machines of the fleet goal. */
const PROOFS = 2_000_000
const MACHINES = 100_000

const guard = createReplayGuard(() => new Date(0))
const before = heldBytes()
for (let n = 0; n < PROOFS; n += 1) admit(`thumbprint of machine ${n % MACHINES}`, `proof ${n}`)
process.stdout.write(`${heldBytes() - before}\n`)
// A later use of the guard keeps it from being collected before the reading.
if (guard.admit('thumbprint', 'one more') !== 'full') throw new Error('the guard is not full')

function admit(thumbprint: string, jti: string): void {
  const outcome = guard.admit(thumbprint, jti)
  if (outcome !== 'fresh') throw new Error(`a new proof was ${outcome}`)
}

function heldBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run with `--expose-gc`')
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

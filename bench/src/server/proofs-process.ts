import { createReplayGuard } from '../../../server/src/identity/device/replay-guard.ts'

/** As many as a guard remembers, of as many machines as the fleet of the goals has. */
const PROOFS = 2_000_000
const MACHINES = 100_000

const guard = createReplayGuard(() => new Date(0))
const before = heldBytes()
for (let n = 0; n < PROOFS; n += 1) admit(`thumbprint of machine ${n % MACHINES}`, `proof ${n}`)
process.stdout.write(`${heldBytes() - before}\n`)
// Whatever is asked for later is not collected before.
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

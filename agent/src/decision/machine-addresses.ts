import { canonicalAddress } from '@palisade/policy-core'
import { networkInterfaces } from 'node:os'
import { AgentError } from '../errors.ts'

/** An address that comes to an interface is protected after this at the latest. */
const REMEMBERED_MS = 100

/**
 * The addresses of this machine's network interfaces, canonical, sorted and without duplicates;
 * loopback is left out, being protected anyway. Throws where the machine has no descriptor left.
 */
export function readMachineAddresses(): readonly string[] {
  const found = new Set<string>()
  for (const entries of Object.values(networkInterfaces())) {
    for (const { address, internal } of entries ?? []) {
      const canonical = internal ? null : canonicalAddress(address)
      if (canonical !== null) found.add(canonical)
    }
  }
  return [...found].toSorted()
}

/**
 * Reads the addresses now, and again when they are asked for 100 ms later: with hundreds of
 * interfaces a read takes as long as many decisions. When they cannot be read, those that are known
 * stay, and `onError` is told once until they can. Throws `AgentError` when none are known yet.
 */
export function watchMachineAddresses(deps: {
  readonly read: () => readonly string[]
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly onError: (error: unknown) => void
}): () => readonly string[] {
  let known = readFirst(deps.read)
  let readAtMs = deps.uptime()
  let isFailing = false
  return () => {
    const nowMs = deps.uptime()
    if (nowMs - readAtMs < REMEMBERED_MS) return known
    readAtMs = nowMs
    try {
      known = deps.read()
      isFailing = false
    } catch (error) {
      if (!isFailing) deps.onError(error)
      isFailing = true
    }
    return known
  }
}

/** Without a list, a name could lead to the machine itself. */
function readFirst(read: () => readonly string[]): readonly string[] {
  try {
    return read()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new AgentError(
      'ERR_MACHINE_ADDRESSES',
      [`the addresses of this machine cannot be read: ${reason}`],
      error,
    )
  }
}

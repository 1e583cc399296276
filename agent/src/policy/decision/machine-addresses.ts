import { canonicalAddress } from '@palisade/policy-core'
import { networkInterfaces } from 'node:os'
import { AgentError } from '../../host/errors.ts'

/** A new interface address is protected within this time. */
const REMEMBERED_MS = 100

/**
 * Addresses of this machine's network interfaces: canonical, sorted and without duplicates.
 * Loopback is omitted, because it is always protected. Throws when the machine has no free file
 * descriptor.
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
 * Reads the addresses now, and again on a call at least 100 ms later: with hundreds of interfaces a
 * read takes as long as many decisions. When a read fails, the known addresses stay, and `onError`
 * is called once until a read succeeds. Throws `AgentError` if the first read fails.
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

/** Throws, because without the list a name could lead to the machine itself. */
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

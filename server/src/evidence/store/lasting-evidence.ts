import { StoreError } from '../../store/store-error.ts'
import type { EvidenceStore } from './evidence-store.ts'

/** Time between two attempts to open the evidence. */
const AGAIN_MS = 30_000

/** The evidence of a running server. */
export interface LastingEvidence extends EvidenceStore {
  /** Why it cannot be opened; null while it is open. */
  fault(): Error | null
}

/**
 * Opens the evidence, and opens it later where it cannot be opened now: a broken file must not keep
 * machines from their policies. Meanwhile every method rejects with `ERR_STORE_UNAVAILABLE`. One
 * call in half a minute tries again.
 */
export async function openLastingEvidence(
  open: () => Promise<EvidenceStore>,
  monotonicMs: () => number,
): Promise<LastingEvidence> {
  let opened: EvidenceStore | null = null
  let opening: Promise<EvidenceStore> | null = null
  let fault: Error | null = null
  let againAtMs = 0
  let isClosed = false

  async function attempt(): Promise<EvidenceStore> {
    againAtMs = monotonicMs() + AGAIN_MS
    try {
      opened = await open()
      fault = null
      return opened
    } catch (error) {
      fault = error instanceof Error ? error : new Error(String(error))
      throw unavailable(fault)
    } finally {
      opening = null
    }
  }

  async function use(): Promise<EvidenceStore> {
    if (opened !== null) return opened
    if (isClosed) throw new StoreError('ERR_STORE_UNAVAILABLE', 'the evidence is closed')
    if (opening !== null) return opening
    if (fault !== null && monotonicMs() < againAtMs) throw unavailable(fault)
    return (opening = attempt())
  }

  await use().catch(() => {})

  return {
    fault: () => fault,
    chain: async (...args) => (await use()).chain(...args),
    append: async (...args) => (await use()).append(...args),
    list: async (...args) => (await use()).list(...args),
    tally: async (...args) => (await use()).tally(...args),
    tuples: async (...args) => (await use()).tuples(...args),
    sources: async (...args) => (await use()).sources(...args),
    losses: async (...args) => (await use()).losses(...args),
    lastLimited: async (...args) => (await use()).lastLimited(...args),
    ruleUse: async (...args) => (await use()).ruleUse(...args),
    firstDay: async (...args) => (await use()).firstDay(...args),
    days: async () => (await use()).days(),
    dropBefore: async (...args) => (await use()).dropBefore(...args),
    dropOwned: async (...args) => (await use()).dropOwned(...args),
    setExporters: async (...args) => (await use()).setExporters(...args),
    addExporter: async (...args) => (await use()).addExporter(...args),
    lease: async (...args) => (await use()).lease(...args),
    unexported: async (...args) => (await use()).unexported(...args),
    exported: async (...args) => (await use()).exported(...args),
    countUnexported: async (...args) => (await use()).countUnexported(...args),
    dropUnexported: async (...args) => (await use()).dropUnexported(...args),
    ping: async () => (await use()).ping(),
    async close() {
      isClosed = true
      await opening?.catch(() => {})
      await opened?.close()
    },
  }
}

function unavailable(cause: Error): StoreError {
  const message = `the evidence cannot be opened: ${cause.message}`
  return new StoreError('ERR_STORE_UNAVAILABLE', message, { cause })
}

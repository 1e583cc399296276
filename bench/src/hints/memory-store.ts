import type { StateStore } from '../../../agent/src/sync/state/state-store.ts'
import type { TrustedState } from '../../../agent/src/sync/trust/trusted-state.ts'

/** Keeps the trusted state in memory: all agents of this process would otherwise share one disk. */
export function createMemoryStore(): StateStore {
  const documents = new Map<string, string>()
  let state: TrustedState | null = null
  return {
    read: async () => ({ state, problem: null }),
    async write(next) {
      state = next
    },
    readMeter: async () => null,
    writeMeter: async () => {},
    readTime: async () => null,
    writeTime: async () => {},
    readDocument: async (hash) => documents.get(hash) ?? null,
    async writeDocument(hash, body) {
      documents.set(hash, new TextDecoder().decode(body))
    },
    async keepDocuments(hashes) {
      for (const hash of documents.keys()) if (!hashes.has(hash)) documents.delete(hash)
    },
    setAside: async () => 'nowhere',
    quarantineDocument: async () => 'nowhere',
  }
}

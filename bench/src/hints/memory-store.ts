import type { StateStore } from '../../../agent/src/sync/state-store.ts'
import type { TrustedState } from '../../../agent/src/sync/trusted-state.ts'

/**
 * What a machine trusts, in memory: a thousand machines have a thousand disks, and this one has one. Only
 * what an update is working on goes below `directory`.
 */
export function createMemoryStore(directory: string): StateStore {
  const documents = new Map<string, string>()
  let state: TrustedState | null = null
  return {
    directory,
    read: async () => ({ state, problem: null }),
    async write(next) {
      state = next
    },
    async writeBoth(next) {
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
    setAside: async () => directory,
    setDocumentAside: async () => directory,
  }
}

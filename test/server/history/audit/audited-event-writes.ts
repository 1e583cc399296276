import { expect } from 'vitest'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { LATER, NOW } from './audited-records.ts'

type Case = [
  work: (writer: StoreWriter) => Promise<unknown>,
  expected: [kind: string, subject: object, before: unknown, after: unknown][],
]

const CHECKPOINT = { sequence: 3, hash: 'h3', is_whole: true }

/** Every write of events except appending, and its own event. */
export function eventWrites(): Record<string, Case> {
  const items = new Map<string, string>()
  const pruning = { checkpoint: CHECKPOINT, items, last_removed_at: NOW, at: LATER }
  const after = {
    removed_through: 3,
    hash: 'h3',
    is_whole: true,
    items_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    last_removed_at: NOW,
    skipped: [{ webhook_id: 'w0', events: 3 }],
  }
  return {
    prune: [
      (writer) => writer.events.prune('acme', pruning),
      [['history.pruned', { id: 'acme', name: 'acme' }, null, after]],
    ],
  }
}

import type { EventWriter } from '../../store/contract/history.ts'
import type { RecordChange } from '../change.ts'
import { describeCheckpoint } from '../describe-checkpoint.ts'

/**
 * The event of a removal holds the checkpoint and a digest of the state kept with it. An attacker
 * who moves the checkpoint or edits that state must recompute all later hashes.
 */
export function auditEvents(events: EventWriter, record: RecordChange): Pick<EventWriter, 'prune'> {
  return {
    async prune(org, pruning) {
      const before = await events.checkpoint(org)
      const skipped = await events.prune(org, pruning)
      const after = await describeCheckpoint(events, org)
      await record({
        place: { org },
        kind: 'history.pruned',
        subject: { id: org, name: org },
        before: before === null ? null : { removed_through: before.sequence },
        after: { ...after, ...(skipped.length === 0 ? {} : { skipped }) },
      })
      return skipped
    },
  }
}

import type { EventKind } from '@palisade/protocol'
import { defineAggregate } from '../aggregate.ts'
import { createRolloutReader, createRolloutWriter } from './rollout-rows.ts'
import { formatRollout } from './format-rollout.ts'
import type { RolloutReader, RolloutWriter } from './rollout-contract.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { RolloutRecord } from '../../distribution-records.ts'
import { StoreError } from '../../store-error.ts'

export const ROLLOUTS = defineAggregate({
  tables: [
    { name: 'rollouts', key: ['id'] },
    { name: 'rollout_policies', key: ['rollout_id', 'policy_id'] },
    { name: 'rollout_watches', key: ['rollout_id'] },
  ],
  reader: createRolloutReader,
  writer: createRolloutWriter,
  events: auditRollouts,
})

/** The policies that a rollout began with are in the history as they came about. */
function auditRollouts(
  rollouts: RolloutWriter,
  { record }: ChangeRecorder,
): Writes<RolloutWriter, RolloutReader> {
  return {
    // An evaluation is progress.
    putWatch: (id, watch) => rollouts.putWatch(id, watch),
    async insert(rollout) {
      await rollouts.insert(rollout)
      const change = { ...ofRollout(rollout), kind: 'rollout.started' as const }
      await record({ ...change, before: null, after: formatRollout(rollout) })
    },
    async update(rollout) {
      const before = await rollouts.find(rollout.org, rollout.id)
      if (before === null)
        throw new StoreError('ERR_STORE_NOT_FOUND', `rollout \`${rollout.id}\` does not exist`)
      await rollouts.update(rollout)
      await record({
        ...ofRollout(rollout),
        kind: kindOf(before, rollout),
        before: formatRollout(before),
        after: formatRollout(rollout),
      })
    },
  }
}

function kindOf(before: RolloutRecord, { state }: RolloutRecord): EventKind {
  switch (state) {
    case 'finished':
      return 'rollout.finished'
    case 'rolled_back':
      return 'rollout.rolled_back'
    case 'paused':
      return 'rollout.paused'
    case 'running':
      return before.state === 'paused' ? 'rollout.resumed' : 'rollout.advanced'
  }
}

function ofRollout({ id, org }: RolloutRecord) {
  return { scope: { org }, subject: { id, name: null } }
}

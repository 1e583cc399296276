import type { RejectionLimit, Rollout, RolloutStage, RolloutStatus } from '@palisade/protocol'
import { formatDuration } from '../../options/duration.ts'
import { formatAge } from '../../terminal/age.ts'
import { formatPairs } from '../../terminal/pairs.ts'
import type { Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'
import { isOpen } from './find-rollout.ts'

/** Formats a rollout and the progress of its machines as pairs. */
export function formatStatus(status: RolloutStatus, nowMs: number, style: Style): string {
  const { id, state, stage, stages, stage_at, created_at, created_by, counted_at, machines } =
    status
  const reached = stages.slice(0, stage).map(formatStage).join(', ')
  const rest = stages.slice(stage).map(formatStage).join(', ')
  const waits =
    status.wait_seconds === null
      ? 'by hand: palisade rollout advance'
      : `automatically after ${formatDuration(status.wait_seconds)} without trouble`
  const pairs: [string, string][] = [
    ['rollout', style.plain(id)],
    ['state', style.plain(describeState(status))],
    ['reached', style.plain(`${reached} (stage ${stage} of ${stages.length})`)],
    ['since', style.plain(formatAge(stage_at, nowMs))],
    ...(rest === '' ? [] : [['then', style.plain(rest)] as [string, string]]),
    ...(isOpen(status) ? [['advances', waits] as [string, string]] : []),
    ['pauses above', `${formatLimit(status.max_rejected)} rejected`],
    ['started', style.plain(`${formatAge(created_at, nowMs)} by ${created_by}`)],
  ]
  if (machines !== null && counted_at !== null) {
    const codes = machines.rejected_by_code.map((each) => `${each.devices} ${each.code}`).join(', ')
    pairs.push(
      ['counted', formatAge(counted_at, nowMs)],
      ['machines', `${machines.devices} reached`],
      ['applied', `${machines.applied}`],
      ['rejected', style.plain(`${machines.rejected}${codes === '' ? '' : ` (${codes})`}`)],
      ['pending', `${machines.pending}`],
      ['silent', `${machines.silent}`],
      ['held back', `${machines.held_back}`],
      ...(machines.never_seen === 0
        ? []
        : [['never seen', `${machines.never_seen}, not counted`] as [string, string]]),
    )
  }
  const text = formatPairs(pairs, style)
  return state === 'running' || state === 'paused'
    ? `${text}\n${style.bad(describeOpenRollout(status))}\n`
    : text
}

/** Says which machines an open rollout excludes from policy changes. */
export function describeOpenRollout({ base_revision, stage, stages }: Rollout): string {
  return (
    `A ROLLOUT IS OPEN: machines outside stage ${stage} of ${stages.length} keep the ` +
    `policies of revision ${base_revision} and do not get new denies; ` +
    '`palisade rollout finish` reaches all of them'
  )
}

export function describeState({ state, paused }: Rollout): string {
  if (paused === null || state !== 'paused') return state.replace('_', ' ')
  return `paused by ${paused.by}${paused.reason === null ? '' : `: ${paused.reason}`}`
}

function formatStage({ label, percent }: RolloutStage): string {
  return label ?? `${percent ?? 0}%`
}

function formatLimit({ machines, percent }: RejectionLimit): string {
  return machines === undefined ? `${percent ?? 0}%` : `${machines}`
}

/** Formats rollouts as a table, or says how to start one. */
export function formatRollouts(rollouts: readonly Rollout[], nowMs: number, style: Style): string {
  if (rollouts.length === 0)
    return 'no rollouts; write `palisade rollout start --stage LABEL --stage 100%`\n'
  return formatTable(
    ['ROLLOUT', 'STATE', 'STAGES', 'REACHED', 'PAUSES ABOVE', 'BASE', 'STARTED', 'BY'],
    rollouts.map((one) => [
      one.id,
      describeState(one),
      one.stages.map(formatStage).join(', '),
      `${one.stage} of ${one.stages.length}`,
      formatLimit(one.max_rejected),
      `${one.base_revision}`,
      formatAge(one.created_at, nowMs),
      one.created_by,
    ]),
    style,
  )
}

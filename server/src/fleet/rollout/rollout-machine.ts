import type { RejectionLimit, RolloutState } from '@palisade/protocol'
import type { RolloutRecord } from '../../store/distribution-records.ts'

/** The state of a rollout, without its name and its organization. */
export type RolloutProgress = Omit<
  RolloutRecord,
  'id' | 'org' | 'base_revision' | 'created_at' | 'created_by'
>

export type RolloutStep =
  | { readonly kind: 'advance'; readonly to: number }
  | { readonly kind: 'pause'; readonly by: string; readonly reason: string | null }
  | { readonly kind: 'resume'; readonly max_rejected: RejectionLimit | null }
  | { readonly kind: 'finish' }
  | { readonly kind: 'roll_back' }

export type Stepped =
  | { readonly ok: true; readonly rollout: RolloutProgress }
  | { readonly ok: false; readonly message: string }

/** A rollout whose first stage is reached. */
export function beginRollout(
  {
    stages,
    max_rejected,
    wait_seconds,
  }: Pick<RolloutProgress, 'stages' | 'max_rejected' | 'wait_seconds'>,
  at: string,
): RolloutProgress {
  return {
    state: 'running',
    stages,
    stage: 1,
    stage_at: at,
    max_rejected,
    wait_seconds,
    counted_from: at,
    paused_at: null,
    paused_by: null,
    pause_reason: null,
    ended_at: null,
  }
}

/** The rollout after `step`, or the reason for a refusal; an ended rollout takes no step. */
export function stepRollout(rollout: RolloutProgress, step: RolloutStep, at: string): Stepped {
  if (isEnded(rollout)) return refuse(`the rollout is ${describeState(rollout.state)}`)
  switch (step.kind) {
    case 'advance':
      return advance(rollout, step.to, at)
    case 'pause': {
      if (rollout.state === 'paused') return refuse('the rollout is paused already')
      const paused = { paused_at: at, paused_by: step.by, pause_reason: step.reason }
      return accept({ ...rollout, state: 'paused', ...paused })
    }
    case 'resume':
      if (rollout.state === 'running') return refuse('the rollout is not paused')
      return accept({
        ...rollout,
        ...RUNNING,
        max_rejected: step.max_rejected ?? rollout.max_rejected,
        counted_from: at,
      })
    case 'finish':
      return accept({ ...rollout, state: 'finished', ended_at: at })
    case 'roll_back':
      return accept({ ...rollout, state: 'rolled_back', ended_at: at })
  }
}

export function isEnded({ state }: Pick<RolloutProgress, 'state'>): boolean {
  return state === 'finished' || state === 'rolled_back'
}

const RUNNING = { state: 'running', paused_at: null, paused_by: null, pause_reason: null } as const

function advance(rollout: RolloutProgress, to: number, at: string): Stepped {
  const { state, stage, stages } = rollout
  if (state === 'paused') return refuse('the rollout is paused; resume it first, or finish it')
  if (to > stages.length)
    return refuse(`the rollout has ${stages.length} stages; finish it to reach every machine`)
  if (to <= stage) return refuse(`the rollout has reached stage ${stage} already`)
  return accept({ ...rollout, stage: to, stage_at: at })
}

function describeState(state: RolloutState): string {
  return state === 'finished' ? 'finished' : 'rolled back'
}

function accept(rollout: RolloutProgress): Stepped {
  return { ok: true, rollout }
}

function refuse(message: string): Stepped {
  return { ok: false, message }
}

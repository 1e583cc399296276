import type { Assurance, ProbeResult } from '@palisade/protocol'
import { assess } from '../../enforcement/assurance.ts'
import type { PointName } from '../../enforcement/enforcement-point.ts'

/** Members of the status that hold the result of a probe. */
export type ProbeName = PointName | 'sandbox' | 'strict'

/** The last results of the self-probes, which the prober writes. */
export interface ProbeResults {
  /** The last result of each point; null before the first. */
  all(): Readonly<Record<ProbeName, ProbeResult | null>>
  /** The class that they show now. */
  assurance(): Assurance
  note(name: ProbeName, result: ProbeResult): void
}

export function createProbeResults(deps: {
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Whether the agent serves all users. */
  readonly isShared: boolean
}): ProbeResults {
  const { clock, isShared } = deps
  const results: Record<ProbeName, ProbeResult | null> = {
    proxy: null,
    sandbox: null,
    strict: null,
  }
  return {
    all: () => ({ ...results }),
    assurance: () => assess(results, { nowMs: clock(), isShared }),
    note: (name, result) => void (results[name] = result),
  }
}

import { effectiveDefault, type Policy } from '@palisade/policy-core'
import type { ReplayLine, ReplayResult } from '@palisade/protocol'
import { nextTurn } from '../../platform/next-turn.ts'
import { decodePolicies } from '../encoded-policies.ts'
import { readRequests, sumUpObserved, type ObservedBounds } from '../observed/read-observed.ts'
import type { EvidenceReading } from '../store/evidence-store.ts'
import { examplesOf, formatReplay, LEAST_DEVICES } from './format-replay.ts'
import type { ReplayJob } from './replay-job.ts'
import { createReplay } from './replay.ts'

/** Sightings take 60 bytes each, and their groups 100. // bench: evidence/replay */
const BOUNDS: ObservedBounds = { records: 200_000, sightings: 1_000_000 }

export type OnProgress = (
  progress: Extract<ReplayLine, { readonly progress: unknown }>['progress'],
) => void

/** Runs a job to its end, in a process of its own. */
export async function runReplay(
  job: ReplayJob,
  evidence: Omit<EvidenceReading, 'close'>,
  onProgress: OnProgress,
  bounds: ObservedBounds = BOUNDS,
): Promise<ReplayResult> {
  const { org, fromMs, toMs, nowMs, revision, resolve_unlisted_names, members, defaults } = job
  const policies = decodePolicies(job.policies)
  const side = (indices: readonly number[]) => ({
    policies: indices.flatMap((index): Policy[] => policies.slice(index, index + 1)),
    resolve_unlisted_names,
  })
  let leftOut = 0
  const report = (readFromMs: number, requests: number, decided: number): void =>
    onProgress({ read_from: new Date(readFromMs).toISOString(), requests, decided })
  const observed = await sumUpObserved(
    evidence,
    org,
    { fromMs, toMs },
    {
      bounds,
      onProgress(progress) {
        leftOut = progress.leftOut
        report(Math.max(progress.readFromMs, fromMs), 0, 0)
      },
    },
  )
  const input = {
    before: side(job.before),
    after: side(job.after),
    teamsOf: (username: string) => members.get(username) ?? null,
    observes: (teams: readonly string[]) =>
      effectiveDefault([defaults.organization, ...teams.map((id) => defaults.teams.get(id))]) ===
      'observe',
    now: nowMs,
    revision,
    shown: { most: job.groups, leastDevices: job.names ? 1 : LEAST_DEVICES },
  }
  const replay = createReplay(input, observed)
  for (const part of replay.parts()) {
    replay.decide(part, await readRequests(evidence, part))
    const { all, decided } = replay.requests()
    report(fromMs, all, decided)
    // Takes notice of a server that has ended.
    await nextTurn()
  }
  const result = replay.result()
  const examples = await evidence.tuples(examplesOf(result))
  return formatReplay(result, { job, leftOut, examples })
}

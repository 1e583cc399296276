import { effectiveDefault, type Policy } from '@palisade/policy-core'
import type { ReplayLine, ReplayResult } from '@palisade/protocol'
import { readObserved, type ObservedBounds } from '../observed/read-observed.ts'
import type { EvidenceReading } from '../store/evidence-store.ts'
import { formatReplay } from './format-replay.ts'
import { decodePolicy, type ReplayJob } from './replay-job.ts'
import { createReplayTally } from './replay-tally.ts'
import { createReplay } from './replay.ts'

/** Together some hundred megabytes. // bench: server/replay */
const BOUNDS: ObservedBounds = { records: 200_000, sightings: 1_000_000 }

export type OnProgress = (
  progress: Extract<ReplayLine, { readonly progress: unknown }>['progress'],
) => void

/** Runs a job to its end, in a thread of its own. */
export async function runReplay(
  job: ReplayJob,
  evidence: Omit<EvidenceReading, 'close'>,
  onProgress: OnProgress,
  bounds: ObservedBounds = BOUNDS,
): Promise<ReplayResult> {
  const { org, fromMs, toMs, nowMs, revision, resolve_unlisted_names, members, defaults } = job
  const policies = job.policies.map(decodePolicy)
  const side = (places: readonly number[]) => ({
    policies: places.flatMap((place): Policy[] => policies.slice(place, place + 1)),
    resolve_unlisted_names,
  })
  const replay = createReplay({
    before: side(job.before),
    after: side(job.after),
    teamsOf: (username) => members.get(username) ?? null,
    observes: (teams) =>
      effectiveDefault([defaults.organization, ...teams.map((id) => defaults.teams.get(id))]) ===
      'observe',
    now: nowMs,
    revision,
  })
  const recorded = createReplayTally()
  let readFromMs = toMs
  let leftOut = 0
  const report = (decided: number): void =>
    onProgress({
      read_from: new Date(readFromMs).toISOString(),
      requests: replay.requests(),
      decided,
    })
  const requests = readObserved(
    evidence,
    org,
    { fromMs, toMs },
    {
      bounds,
      onProgress(progress) {
        readFromMs = Math.max(progress.readFromMs, fromMs)
        leftOut = progress.leftOut
        report(0)
      },
    },
  )
  for await (const some of requests)
    for (const request of some) {
      replay.add(request)
      for (const sighting of request.sightings) recorded.add(request.tuple, sighting)
    }
  const steps = replay.decide()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return formatReplay(step.value, recorded.count(), { job, leftOut })
    report(step.value)
  }
}

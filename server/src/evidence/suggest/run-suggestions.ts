import type { WorkerPort } from '../../platform/start-worker.ts'
import { serveCalls } from '../../work/serve-calls.ts'
import { decodePolicies } from '../encoded-policies.ts'
import { readObserved, type ObservedRequest } from '../observed/read-observed.ts'
import type { EvidenceReading } from '../store/evidence-store.ts'
import { openEvidenceReading } from '../store/open-evidence-store.ts'
import type { MadeSuggestions, SuggestJob } from './suggest-process.ts'
import { suggest } from './suggest.ts'

const BOUNDS = { records: 200_000, sightings: 200_000 }
/**
 * Characters of all requests with long texts. A machine can record very many, which would take all
 * memory of the process; short ones are never left out for them.
 */
const LONG_CHARACTERS = 32 * 1024 * 1024
const LONG = 256

/** Answers a job with `MadeSuggestions` in JSON. */
export function serveSuggestions(port: WorkerPort): void {
  serveCalls(port, {
    async handle(message) {
      const job = message as SuggestJob
      const evidence = await openEvidenceReading(job.store)
      const made = await runSuggestions(job, evidence)
      await evidence.close()
      return JSON.stringify(made)
    },
  })
}

/** Reads the evidence and makes suggestions of it. Throws StoreError. */
async function runSuggestions(
  { org, fromMs, toMs, nowMs, policies, teams, members, rules }: SuggestJob,
  evidence: Pick<EvidenceReading, 'tally' | 'tuples' | 'sources'>,
): Promise<MadeSuggestions> {
  let leftOut = 0
  const observed = readObserved(
    evidence,
    org,
    { fromMs, toMs },
    {
      bounds: BOUNDS,
      onProgress(progress) {
        leftOut = progress.leftOut
      },
    },
  )
  const long = createLongBound()
  const requests: ObservedRequest[] = []
  for await (const part of observed)
    for (const request of part) if (long.hasRoom(request)) requests.push(request)
  const organization = { policies: decodePolicies(policies), teams, members }
  const made = suggest(requests, organization, rules, nowMs)
  return { ...made, left_out: leftOut + long.leftOut() }
}

/** Leaves out requests with long texts once they have `most` characters together. */
export function createLongBound(most: number = LONG_CHARACTERS): {
  readonly hasRoom: (request: ObservedRequest) => boolean
  /** Decisions. */
  readonly leftOut: () => number
} {
  let [characters, leftOut] = [0, 0]
  return {
    hasRoom({ tuple, sightings }) {
      const length = charactersOf(tuple)
      if (length <= LONG) return true
      if (characters + length > most) {
        leftOut += sightings.reduce((sum, { decisions }) => sum + decisions, 0)
        return false
      }
      characters += length
      return true
    },
    leftOut: () => leftOut,
  }
}

/** Counts characters of the members that a machine chooses freely. */
function charactersOf({ host, path, program }: ObservedRequest['tuple']): number {
  return (host?.length ?? 0) + (path?.length ?? 0) + (program?.length ?? 0)
}

import type { SuggestionOptions, SuggestionsResponse } from '@palisade/protocol'
import { formatDetailedPolicy } from '../../history/format-policy.ts'
import type { Work } from '../../operations/overload/work-budget.ts'
import { invalidArgument, limitExceeded } from '../../platform/api-error.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { readObserved, type ObservedRequest } from '../observed/read-observed.ts'
import { MAX_AHEAD_MS } from '../store/evidence-record.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import type { SuggestOrganization } from './suggest-input.ts'
import type { SuggestWorker } from './suggest-worker-client.ts'

const DAY_MS = 24 * 60 * 60_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 400
/** A row takes about a microsecond; other requests are served between two calls. */
const BOUNDS = { records: 2_000, sightings: 200_000 }
/** Reading holds one of few turns, and the caller waits. */
const READ_LIMIT_MS = 60_000
/** For the only worker. A charge of its whole time would delay the `apply` that follows. */
const CHARGED_MS = 1_000
/** Sightings in one message to the worker: some milliseconds to write as JSON. */
const MESSAGE_SIGHTINGS = 2_000
/** The same for the texts of its requests. A path may have 4,096 characters. */
const MESSAGE_CHARACTERS = 256 * 1024
/**
 * Characters of all requests with long texts. A machine can record very many, which would take all
 * memory of the worker; short ones are never left out for them.
 */
const LONG_CHARACTERS = 32 * 1024 * 1024
const LONG = 256

export interface AnswerSuggestionsDeps {
  readonly store: Pick<Store, 'read'>
  readonly evidence: Pick<EvidenceStore, 'tally' | 'tuples' | 'sources'>
  readonly now: () => Date
  readonly monotonicMs: () => number
  readonly startWorker: () => SuggestWorker
}

interface Snapshot extends SuggestOrganization {
  readonly revision: number
}

/**
 * Reads the evidence and the present policies, and lets a worker make suggestions of them. Throws
 * ApiError 400 for a wrong period, and 403 for too much evidence.
 */
export async function answerSuggestions(
  { store, evidence, now, monotonicMs, startWorker }: AnswerSuggestionsDeps,
  org: string,
  options: SuggestionOptions,
  { work, isGone }: { readonly work: Work; readonly isGone: () => boolean },
): Promise<SuggestionsResponse> {
  const nowMs = now().getTime()
  const time = readTime(options, nowMs)
  const { since: _, until: __, ...rules } = options
  const startedMs = monotonicMs()
  const worker = startWorker()
  try {
    let leftOut = 0
    const observed = readObserved(evidence, org, time, {
      bounds: BOUNDS,
      onProgress(progress) {
        leftOut = progress.leftOut
        if (isGone() || monotonicMs() - startedMs > READ_LIMIT_MS)
          throw limitExceeded('reading the evidence takes too long; ask for a shorter time')
      },
    })
    const long = createLongBound()
    for await (const slice of observed)
      for (const requests of splitRequests(slice.filter(long.hasPlace))) {
        worker.send('requests', requests)
        await work.turn()
      }
    const { revision, policies, teams, members } = await store.read((reader) => read(reader, org))
    for (const policy of policies) {
      worker.send('policies', [policy])
      await work.turn()
    }
    worker.send('people', { teams, members })
    const min_devices = rules.min_devices ?? (rules.by === 'user' ? 1 : 2)
    worker.send('rules', { rules: { ...rules, min_devices }, now: nowMs })
    work.charge(CHARGED_MS)
    const made = await worker.answer(isGone)
    return {
      ...made,
      since: new Date(time.fromMs).toISOString(),
      until: new Date(Math.min(time.toMs, nowMs)).toISOString(),
      revision,
      examined: { ...made.examined, left_out: leftOut + long.leftOut() },
    }
  } finally {
    await worker.stop()
  }
}

function readTime(
  { since, until }: Pick<SuggestionOptions, 'since' | 'until'>,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const endMs = until === undefined ? nowMs : Date.parse(until)
  const fromMs = since === undefined ? endMs - DEFAULT_DAYS * DAY_MS : Date.parse(since)
  if (fromMs >= endMs) throw invalidArgument('`since` must be before `until`', { field: 'since' })
  if (endMs - fromMs > MAX_DAYS * DAY_MS)
    throw invalidArgument(`\`since\` must be at most ${MAX_DAYS} days before \`until\``, {
      field: 'since',
    })
  return { fromMs, toMs: until === undefined ? nowMs + MAX_AHEAD_MS : endMs }
}

async function read(reader: StoreReader, org: string): Promise<Snapshot> {
  const organization = await reader.organizations.find(org)
  const teamsOf = await reader.teams.listOfUsers(org)
  const members = await reader.memberships.list(org)
  return {
    revision: organization?.revision ?? 0,
    policies: (await reader.policies.listWithRules(org)).map(formatDetailedPolicy),
    teams: (await reader.teams.list(org)).map(({ id, name }) => ({ id, name })),
    members: members.map(({ username }) => ({ username, teams: teamsOf.get(username) ?? [] })),
  }
}

/**
 * Parts of at most `MESSAGE_SIGHTINGS` and `MESSAGE_CHARACTERS`; a request with more sightings is
 * in several parts.
 */
export function* splitRequests(requests: readonly ObservedRequest[]): Generator<ObservedRequest[]> {
  let part: ObservedRequest[] = []
  let [count, characters] = [0, 0]
  for (const { tuple, sightings } of requests) {
    const length = charactersOf(tuple)
    for (let first = 0; first < sightings.length; first += MESSAGE_SIGHTINGS) {
      const some = sightings.slice(first, first + MESSAGE_SIGHTINGS)
      const isFull =
        count + some.length > MESSAGE_SIGHTINGS || characters + length > MESSAGE_CHARACTERS
      if (isFull && part.length > 0) {
        yield part
        part = []
        count = 0
        characters = 0
      }
      part.push({ tuple, sightings: some })
      count += some.length
      characters += length
    }
  }
  if (part.length > 0) yield part
}

/** Leaves out requests with long texts once they have `most` characters together. */
export function createLongBound(most: number = LONG_CHARACTERS): {
  readonly hasPlace: (request: ObservedRequest) => boolean
  /** Decisions. */
  readonly leftOut: () => number
} {
  let [characters, leftOut] = [0, 0]
  return {
    hasPlace({ tuple, sightings }) {
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

/** Of the members that a machine chooses freely. */
function charactersOf({ host, path, program }: ObservedRequest['tuple']): number {
  return (host?.length ?? 0) + (path?.length ?? 0) + (program?.length ?? 0)
}

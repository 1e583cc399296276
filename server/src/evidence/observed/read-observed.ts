import { QUESTION_POINT } from '@palisade/protocol'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import type {
  EvidenceFilter,
  EvidencePlace,
  EvidenceStore,
  EvidenceTally,
} from '../store/evidence-store.ts'

/** Tuples that are read from the store, and yielded, at once. */
const TUPLES_AT_ONCE = 1_000

/**
 * Once the bound of sightings is reached, a device with less than the small part of it takes places
 * of the one with the most, if that has more than the large part: a machine that uploads very many
 * different requests, all of them newer, would keep out those of all others.
 */
const [SMALL_PART, LARGE_PART] = [1 / 20, 1 / 10]

/** Decisions of one device for one user that have one tuple. */
export interface Sighting {
  readonly device_id: string
  readonly username: string | null
  readonly decisions: number
  /** Epoch milliseconds of the first and the last one. */
  readonly first_ms: number
  readonly last_ms: number
}

/** A recorded request with the decision that it got, and everyone who made it. */
export interface ObservedRequest {
  readonly tuple: EvidenceTuple
  readonly sightings: readonly Sighting[]
}

export interface ObservedBounds {
  /** Rows that one call of the store reads; a tenth of a millisecond for each 100. */
  readonly records: number
  /** Sightings that are kept in memory, about 200 bytes each. */
  readonly sightings: number
}

/** The part of a time that has been read. */
export interface ObservedProgress {
  /** Everything from here on, in epoch milliseconds, has been read. */
  readonly readFromMs: number
  readonly sightings: number
  /** Decisions beyond the bound of sightings, which are never yielded. */
  readonly leftOut: number
}

export interface ReadObservedOptions {
  readonly bounds: ObservedBounds
  /** Called after each call of the store; an error that it throws ends the reading. */
  onProgress?(progress: ObservedProgress): void
}

type Subject = Pick<Sighting, 'device_id' | 'username'>
type Sum = { -readonly [Key in Exclude<keyof Sighting, keyof Subject>]: Sighting[Key] }

/**
 * Reads the distinct requests that an organization's machines recorded in a time, without the
 * questions: two people who ask about a host have not needed it. All rows are
 * read, in parts and without a lock, before the first request is yielded. Rows that arrive
 * meanwhile may be among them. Throws StoreError.
 */
export async function* readObserved(
  evidence: Pick<EvidenceStore, 'tally' | 'tuples' | 'sources'>,
  org: string,
  time: Pick<EvidenceFilter, 'fromMs' | 'toMs'>,
  options: ReadObservedOptions,
): AsyncGenerator<readonly ObservedRequest[], void, undefined> {
  const { subjects, sums } = await sumUp(evidence, org, time, options)
  const ids = [...sums.keys()]
  for (let first = 0; first < ids.length; first += TUPLES_AT_ONCE) {
    const some = ids.slice(first, first + TUPLES_AT_ONCE)
    const tuples = await evidence.tuples(some)
    yield some.flatMap((id) => {
      const tuple = tuples.get(id)
      const bySubject = sums.get(id)
      sums.delete(id)
      if (tuple === undefined || bySubject === undefined) return []
      if (tuple.point === QUESTION_POINT) return []
      return [
        { tuple, sightings: [...bySubject].map(([at, sum]) => toSighting(subjects[at], sum)) },
      ]
    })
  }
}

function toSighting(subject: Subject | undefined, sum: Sum): Sighting {
  const { device_id, username } = subject ?? { device_id: '', username: null }
  return { device_id, username, ...sum }
}

async function sumUp(
  evidence: Pick<EvidenceStore, 'tally' | 'sources'>,
  org: string,
  time: Pick<EvidenceFilter, 'fromMs' | 'toMs'>,
  { bounds, onProgress }: ReadObservedOptions,
): Promise<{ readonly subjects: readonly Subject[]; readonly sums: Sums['byTuple'] }> {
  const { subjects, indexOf } = createSubjects(evidence, bounds.sightings)
  const sums = createSums(bounds.sightings, (subject) => subjects[subject]?.device_id ?? '')
  let before: EvidencePlace | null = null
  do {
    const page: EvidencePlace | null = before
    const slice = await evidence.tally(org, time, { before: page, records: bounds.records })
    const indices = await indexOf(new Set(slice.tallies.map(({ source }) => source)))
    for (const tally of slice.tallies) {
      const subject = indices.get(tally.source)
      if (subject !== undefined) sums.add(subject, tally)
    }
    before = slice.next
    onProgress?.({ readFromMs: before?.last_ms ?? time.fromMs, ...sums.counts })
  } while (before !== null)
  return { subjects, sums: sums.byTuple }
}

interface Sums {
  /** By tuple, then by the number of the subject. */
  readonly byTuple: Map<number, Map<number, Sum>>
  readonly counts: Pick<ObservedProgress, 'sightings' | 'leftOut'>
  add(subject: number, tally: EvidenceTally): void
}

/** The sightings of a device. */
interface DeviceShare {
  /** Tuple and subject of each, in turn; those of the newest rows first. */
  readonly places: number[]
  /** Whether it lost some to others; it gets no new ones. */
  isCut: boolean
}

function createSums(mostSightings: number, deviceOf: (subject: number) => string): Sums {
  const byTuple: Sums['byTuple'] = new Map()
  const counts = { sightings: 0, leftOut: 0 }
  const shares = new Map<string, DeviceShare>()
  let largest: DeviceShare = { places: [], isCut: false }
  const larger = (a: DeviceShare, b: DeviceShare) => (b.places.length > a.places.length ? b : a)

  /** Takes the older half, at least a twentieth of the bound, so that this happens rarely. */
  const cut = (share: DeviceShare): void => {
    const kept = 2 * Math.floor(share.places.length / 4)
    const dropped = share.places.splice(kept)
    share.isCut = true
    counts.sightings -= dropped.length / 2
    for (let at = 0; at < dropped.length; at += 2) {
      const [tuple = 0, subject = 0] = [dropped[at], dropped[at + 1]]
      const bySubject = byTuple.get(tuple)
      counts.leftOut += bySubject?.get(subject)?.decisions ?? 0
      bySubject?.delete(subject)
      if (bySubject?.size === 0) byTuple.delete(tuple)
    }
    largest = [...shares.values()].reduce(larger, share)
  }

  const hasPlace = (share: DeviceShare): boolean => {
    if (share.isCut) return false
    if (counts.sightings < mostSightings) return true
    const isSmall = share.places.length / 2 < mostSightings * SMALL_PART
    if (!isSmall || largest.places.length / 2 <= mostSightings * LARGE_PART) return false
    cut(largest)
    return true
  }

  return {
    byTuple,
    counts,
    add(subject, { tuple, decisions, first_ms, last_ms }) {
      const sum = byTuple.get(tuple)?.get(subject)
      if (sum !== undefined) {
        sum.decisions += decisions
        sum.first_ms = Math.min(sum.first_ms, first_ms)
        sum.last_ms = Math.max(sum.last_ms, last_ms)
        return
      }
      const device = deviceOf(subject)
      const share = shares.get(device) ?? { places: [], isCut: false }
      if (!hasPlace(share)) {
        counts.leftOut += decisions
        return
      }
      counts.sightings += 1
      share.places.push(tuple, subject)
      shares.set(device, share)
      largest = larger(largest, share)
      const made = { decisions, first_ms, last_ms }
      const bySubject = byTuple.get(tuple)
      if (bySubject === undefined) byTuple.set(tuple, new Map([[subject, made]]))
      else bySubject.set(subject, made)
    },
  }
}

/**
 * One number for all sources with the same device and user. A machine can name any number of
 * sandboxes, each a source, so that those beyond `mostKept` are looked up again.
 */
function createSubjects(evidence: Pick<EvidenceStore, 'sources'>, mostKept: number) {
  const subjects: Subject[] = []
  const bySource = new Map<number, number>()
  const byName = new Map<string, number>()
  return {
    subjects,
    async indexOf(sources: ReadonlySet<number>): Promise<ReadonlyMap<number, number>> {
      if (bySource.size >= mostKept) bySource.clear()
      const unknown = [...sources].filter((source) => !bySource.has(source))
      for (const [source, subject] of await evidence.sources(unknown)) {
        const name = JSON.stringify([subject.device_id, subject.username])
        const index = byName.get(name) ?? subjects.push(subject) - 1
        byName.set(name, index)
        bySource.set(source, index)
      }
      return bySource
    },
  }
}

import { QUESTION_POINT } from '@palisade/protocol'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import type {
  EvidenceFilter,
  EvidencePosition,
  EvidenceStore,
  EvidenceTally,
} from '../store/evidence-store.ts'
import { createSightingTable, type SightingTable } from './sighting-table.ts'

/** Tuples that are read from the store at once. */
const TUPLES_AT_ONCE = 1_000

/**
 * Once the bound of sightings is reached, a device with less than the small part of it takes rows
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
  /** Sightings that are kept in memory, about 60 bytes each. */
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

export type Subject = Pick<Sighting, 'device_id' | 'username'>

/** The sums of a time. */
export interface ObservedRows {
  /** Devices with their users; a row holds an index into them. */
  readonly subjects: readonly Subject[]
  readonly table: SightingTable
}

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
  const observed = await sumUpObserved(evidence, org, time, options)
  const rows = observed.table.sorted([])
  for (const part of splitByTuples(observed, rows)) {
    const tuples = await readRequests(evidence, part)
    yield part.flatMap(({ tuple: id, from, to }) => {
      const tuple = tuples.get(id)
      if (tuple === undefined) return []
      const sightings = Array.from(rows.subarray(from, to), (row) => sightingOf(observed, row))
      return [{ tuple, sightings }]
    })
  }
}

/** Tuples by their keys. Those of questions are left out, and those that are removed. */
export async function readRequests(
  evidence: Pick<EvidenceStore, 'tuples'>,
  part: readonly TupleRows[],
): Promise<ReadonlyMap<number, EvidenceTuple>> {
  const tuples = await evidence.tuples(part.map(({ tuple }) => tuple))
  return new Map([...tuples].filter(([, { point }]) => point !== QUESTION_POINT))
}

/** The rows of one tuple among sorted rows: from a position to another, exclusive. */
export interface TupleRows {
  readonly tuple: number
  readonly from: number
  readonly to: number
}

/** Splits sorted rows by tuple, in parts of as many tuples as are read at once. */
export function* splitByTuples(
  { table }: Pick<ObservedRows, 'table'>,
  rows: Int32Array,
  [first, end]: readonly [from: number, to: number] = [0, rows.length],
): Generator<readonly TupleRows[]> {
  let part: TupleRows[] = []
  let from = first
  while (from < end) {
    const tuple = table.tupleOf(rows[from] ?? 0)
    let to = from + 1
    while (to < end && table.tupleOf(rows[to] ?? 0) === tuple) to += 1
    part.push({ tuple, from, to })
    from = to
    if (part.length < TUPLES_AT_ONCE && from < end) continue
    yield part
    part = []
  }
}

export function sightingOf({ subjects, table }: ObservedRows, row: number): Sighting {
  const { subject, decisions, first_ms, last_ms } = table.at(row)
  const { device_id, username } = subjects[subject] ?? { device_id: '', username: null }
  return { device_id, username, decisions, first_ms, last_ms }
}

/** Reads all rows of a time. */
export async function sumUpObserved(
  evidence: Pick<EvidenceStore, 'tally' | 'sources'>,
  org: string,
  time: Pick<EvidenceFilter, 'fromMs' | 'toMs'>,
  { bounds, onProgress }: ReadObservedOptions,
): Promise<ObservedRows> {
  const { subjects, indexOf } = createSubjects(evidence, bounds.sightings)
  const sums = createSums(bounds.sightings, (subject) => subjects[subject]?.device_id ?? '')
  let before: EvidencePosition | null = null
  do {
    const page: EvidencePosition | null = before
    const slice = await evidence.tally(org, time, { before: page, records: bounds.records })
    const indices = await indexOf(new Set(slice.tallies.map(({ source }) => source)))
    for (const tally of slice.tallies) {
      const subject = indices.get(tally.source)
      if (subject !== undefined) sums.add(subject, tally)
    }
    before = slice.next
    onProgress?.({ readFromMs: before?.last_ms ?? time.fromMs, ...sums.counts() })
  } while (before !== null)
  return { subjects, table: sums.table }
}

interface Sums {
  readonly table: SightingTable
  counts(): Pick<ObservedProgress, 'sightings' | 'leftOut'>
  add(subject: number, tally: EvidenceTally): void
}

/** The sightings of a device. */
interface DeviceShare {
  /** Rows of the newest records first. */
  readonly rows: number[]
  /** Whether it lost some to others; it gets no new ones. */
  isCut: boolean
}

function createSums(mostSightings: number, deviceOf: (subject: number) => string): Sums {
  const table = createSightingTable(mostSightings)
  const shares = new Map<string, DeviceShare>()
  let leftOut = 0
  let largest: DeviceShare = { rows: [], isCut: false }
  const larger = (a: DeviceShare, b: DeviceShare) => (b.rows.length > a.rows.length ? b : a)

  /** Takes the older half, at least a twentieth of the bound, so that this happens rarely. */
  const cut = (share: DeviceShare): void => {
    for (const row of share.rows.splice(Math.floor(share.rows.length / 2)))
      leftOut += table.remove(row)
    share.isCut = true
    largest = [...shares.values()].reduce(larger, share)
  }

  const hasRoom = (share: DeviceShare): boolean => {
    if (share.isCut) return false
    if (table.size() < mostSightings) return true
    const isSmall = share.rows.length < mostSightings * SMALL_PART
    if (!isSmall || largest.rows.length <= mostSightings * LARGE_PART) return false
    cut(largest)
    return true
  }

  return {
    table,
    counts: () => ({ sightings: table.size(), leftOut }),
    add(subject, tally) {
      if (table.addTo(subject, tally)) return
      const device = deviceOf(subject)
      const share = shares.get(device) ?? { rows: [], isCut: false }
      if (!hasRoom(share)) {
        leftOut += tally.decisions
        return
      }
      share.rows.push(table.insert(subject, tally))
      shares.set(device, share)
      largest = larger(largest, share)
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

import { FIRST_PREVIOUS, type BatchHeader, type BatchLine } from '@palisade/protocol'
import type { ChainMark, DeviceChain } from '../store/evidence-record.ts'

/** Earlier boots that are remembered, to recognise one that goes on. */
const MAX_EARLIER = 64

/** A batch as it was read; one line at least, by ascending numbers. */
export interface ReadBatch {
  readonly header: BatchHeader
  readonly lines: readonly [BatchLine, ...BatchLine[]]
}

/**
 * How a batch continues the chain of its device.
 *
 * - `known`: all its lines were there before.
 * - `unclear`: it overlaps the chain, but has no line where the chain ends. The machine asks for
 *   the position and sends another batch.
 * - `continues`: `lines` are new. `mark` says that the chain does not hold at the first of them.
 */
export type ChainOutcome =
  | { readonly kind: 'known' | 'unclear' }
  | {
      readonly kind: 'continues'
      readonly lines: readonly BatchLine[]
      readonly mark: ChainMark | null
      /** Lines that never arrived, as far as their numbers tell. */
      readonly missing: number
    }

/**
 * Checks a batch by the numbers and hashes of its lines.
 *
 * - A gap: lines are missing between the chain and the batch.
 * - A fork: another line has the number of one that was there before, as where two machines share
 *   one identity.
 * - A rewind: the machine goes on from an earlier line, as after a restored snapshot, or begins
 *   anew without the records it had.
 */
export function checkChain(chain: DeviceChain | null, batch: ReadBatch): ChainOutcome {
  const outcome = checkPosition(chain, batch)
  if (outcome.kind !== 'continues') return outcome
  const skipped = countSkipped(batch, outcome.lines)
  if (skipped === 0) return outcome
  return { ...outcome, mark: outcome.mark ?? 'gap', missing: outcome.missing + skipped }
}

/** Lines that are missing within a batch: a number of decisions left out covers all before it. */
function countSkipped({ header, lines }: ReadBatch, taken: readonly BatchLine[]): number {
  const from = taken[0]?.seq ?? Infinity
  let skipped = 0
  let seq = header.first - 1
  for (const line of lines) {
    if (line.seq >= from && !('left_out' in line)) skipped += line.seq - seq - 1
    seq = line.seq
  }
  return skipped
}

function checkPosition(chain: DeviceChain | null, batch: ReadBatch): ChainOutcome {
  const { header, lines } = batch
  if (chain === null) return continues(lines)
  const { position, earlier } = chain
  if (header.boot === position.boot) return checkSameBoot(position, batch)
  const former = earlier.find(({ boot }) => boot === header.boot)
  if (former !== undefined) {
    const outcome = checkSameBoot(former, batch)
    return outcome.kind === 'continues' ? { ...outcome, mark: 'rewind' } : outcome
  }
  if (header.first > 1) return continues(lines, 'gap', header.first - 1)
  if (header.previous === position.hash) return continues(lines)
  const isBefore =
    header.previous === FIRST_PREVIOUS || earlier.some(({ hash }) => hash === header.previous)
  return continues(lines, isBefore ? 'rewind' : 'gap')
}

function checkSameBoot(
  { seq, hash }: DeviceChain['position'],
  { header, lines }: ReadBatch,
): ChainOutcome {
  const { first, previous } = header
  if (first > seq + 1) return continues(lines, 'gap', first - seq - 1)
  if (first === seq + 1) return continues(lines, previous === hash ? null : 'fork')
  const after = lines.filter((line) => line.seq > seq)
  const same = lines.find((line) => line.seq === seq)
  if (same === undefined) return { kind: after.length === 0 ? 'known' : 'unclear' }
  if (same.hash !== hash) return continues(after, 'fork')
  return after.length === 0 ? { kind: 'known' } : continues(after)
}

function continues(
  lines: readonly BatchLine[],
  mark: ChainMark | null = null,
  missing = 0,
): ChainOutcome {
  return { kind: 'continues', lines, mark, missing }
}

/** Counts of a batch that the chain sums up. */
export interface BatchCounts {
  readonly lost: number
  readonly left_out: number
}

/**
 * The chain after a batch that continues it. The last line gives its position; a fork without a
 * line of its own leaves the position as it is.
 */
export function extendChain(
  chain: DeviceChain | null,
  { boot }: BatchHeader,
  { lines, mark }: Pick<Extract<ChainOutcome, { kind: 'continues' }>, 'lines' | 'mark'>,
  { lost, left_out, receivedMs }: BatchCounts & { readonly receivedMs: number },
): DeviceChain {
  const last = lines.at(-1)
  const position =
    last === undefined ? requirePosition(chain) : { boot, seq: last.seq, hash: last.hash }
  const former = chain ?? UNSEEN
  const countOf = (each: ChainMark): number => (mark === each ? 1 : 0)
  return {
    position,
    earlier: earlierOf(chain, position),
    gaps: former.gaps + countOf('gap'),
    forks: former.forks + countOf('fork'),
    rewinds: former.rewinds + countOf('rewind'),
    marked_ms: mark === null ? former.marked_ms : receivedMs,
    lost: addBounded(former.lost, lost),
    left_out: addBounded(former.left_out, left_out),
    // Grows with each batch, because the store compares it.
    received_ms: Math.max(receivedMs, former.received_ms + 1),
  }
}

/** A machine may claim any counts, and the sum must stay one that an answer can hold. */
function addBounded(sum: number, count: number): number {
  return Math.min(sum + count, Number.MAX_SAFE_INTEGER)
}

/** A chain without a batch. */
const UNSEEN: Omit<DeviceChain, 'earlier' | 'position'> = {
  gaps: 0,
  forks: 0,
  rewinds: 0,
  marked_ms: null,
  lost: 0,
  left_out: 0,
  received_ms: 0,
}

function requirePosition(chain: DeviceChain | null): DeviceChain['position'] {
  if (chain === null) throw new TypeError('a fork has a chain')
  return chain.position
}

function earlierOf(
  chain: DeviceChain | null,
  { boot }: DeviceChain['position'],
): DeviceChain['earlier'] {
  if (chain === null) return []
  if (chain.position.boot === boot) return chain.earlier
  const others = chain.earlier.filter((each) => each.boot !== boot)
  return [chain.position, ...others].slice(0, MAX_EARLIER)
}

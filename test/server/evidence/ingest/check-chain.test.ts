import { FIRST_PREVIOUS, type BatchLine } from '@palisade/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extendChain,
  checkChain,
  type ReadBatch,
} from '../../../../server/src/evidence/ingest/check-chain.ts'
import type { DeviceChain } from '../../../../server/src/evidence/store/evidence-record.ts'
import { linesOf, recordOf } from './batch-text.ts'

const hashOf = (text: string): string => text.padEnd(64, '0')

/** The disk of a machine: the hash of each line by boot and number. */
const lineOf = (boot: string, seq: number): BatchLine => ({
  seq,
  hash: hashOf(`${boot}${seq.toString(16)}`),
  left_out: 1,
})

/** The lines of a boot, after a line with the hash `before`. */
function batchOf(boot: string, first: number, last: number, before?: string): ReadBatch {
  const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const [head, ...rest] = seqs.map((seq) => lineOf(boot, seq))
  if (head === undefined) throw new TypeError('no line')
  const previous = before ?? lineOf(boot, first - 1).hash
  return { header: { boot, first, previous }, lines: [head, ...rest] }
}

function follow(chain: DeviceChain | null, batch: ReadBatch): DeviceChain {
  const outcome = checkChain(chain, batch)
  if (outcome.kind !== 'continues') throw new TypeError(outcome.kind)
  return extendChain(chain, batch.header, outcome, { lost: 0, left_out: 0, receivedMs: 1000 })
}

const first = follow(null, batchOf('a', 1, 5, FIRST_PREVIOUS))

describe('checkChain', () => {
  it('takes the first batch of a device as it is', () => {
    expect(checkChain(null, batchOf('a', 7, 9))).toMatchObject({ kind: 'continues', mark: null })
  })

  it('continues a boot', () => {
    const outcome = checkChain(first, batchOf('a', 6, 8))
    expect(outcome).toMatchObject({ kind: 'continues', mark: null, missing: 0 })
    expect(follow(first, batchOf('a', 6, 8)).position).toEqual({
      boot: 'a',
      seq: 8,
      hash: lineOf('a', 8).hash,
    })
  })

  it('knows a batch that arrives again, and takes the new lines of a longer one', () => {
    expect(checkChain(first, batchOf('a', 1, 5, FIRST_PREVIOUS))).toEqual({ kind: 'known' })
    expect(checkChain(first, batchOf('a', 2, 3))).toEqual({ kind: 'known' })
    const longer = checkChain(first, batchOf('a', 3, 7))
    expect(longer).toMatchObject({ kind: 'continues', mark: null })
    expect(longer.kind === 'continues' && longer.lines.map(({ seq }) => seq)).toEqual([6, 7])
  })

  it('asks for another batch where none of its lines is the last known one', () => {
    const { header } = batchOf('a', 4, 4)
    expect(checkChain(first, { header, lines: [lineOf('a', 7)] })).toEqual({ kind: 'unclear' })
  })

  it('marks a gap, and counts its lines', () => {
    expect(checkChain(first, batchOf('a', 9, 9))).toMatchObject({ mark: 'gap', missing: 3 })
    expect(checkChain(first, batchOf('b', 3, 4))).toMatchObject({ mark: 'gap', missing: 2 })
    expect(checkChain(first, batchOf('b', 1, 4, lineOf('a', 8).hash))).toMatchObject({
      mark: 'gap',
    })
  })

  it('marks a gap within a batch, unless its lines were left out', () => {
    const record = (seq: number) => ({ ...linesOf([recordOf()], seq)[0], seq }) as BatchLine
    const batchWith = (...[head, ...rest]: [BatchLine, ...BatchLine[]]): ReadBatch => ({
      header: { boot: 'a', first: 6, previous: lineOf('a', 5).hash },
      lines: [head, ...rest],
    })
    expect(checkChain(first, batchWith(record(6), record(9)))).toMatchObject({
      mark: 'gap',
      missing: 2,
    })
    expect(checkChain(first, batchWith(record(8)))).toMatchObject({ mark: 'gap', missing: 2 })
    expect(checkChain(first, batchWith(record(6), lineOf('a', 9), record(10)))).toMatchObject({
      mark: null,
      missing: 0,
    })
  })

  it('marks a fork where a line of the same number differs', () => {
    expect(checkChain(first, batchOf('a', 6, 8, hashOf('f')))).toMatchObject({ mark: 'fork' })
    const other = batchOf('a', 5, 6)
    const [, ...rest] = other.lines
    const forged = { ...other, lines: [{ ...lineOf('a', 5), hash: hashOf('f') }, ...rest] } as const
    const outcome = checkChain(first, forged)
    expect(outcome).toMatchObject({ kind: 'continues', mark: 'fork' })
    expect(outcome.kind === 'continues' && outcome.lines).toEqual(rest)
  })

  it('counts a fork without a new line, and keeps its position', () => {
    const forged = { ...batchOf('a', 5, 5), lines: [{ ...lineOf('a', 5), hash: hashOf('f') }] }
    const chain = follow(first, forged as unknown as ReadBatch)
    expect(chain).toMatchObject({ forks: 1, marked_ms: 1000, position: first.position })
  })

  it('follows a restart that goes on from the last line', () => {
    const restarted = batchOf('b', 1, 2, lineOf('a', 5).hash)
    expect(checkChain(first, restarted)).toMatchObject({ mark: null, missing: 0 })
    expect(follow(first, restarted).earlier).toEqual([first.position])
  })

  it('marks a rewind where a machine goes on from an earlier line, or begins anew', () => {
    const second = follow(first, batchOf('b', 1, 2, lineOf('a', 5).hash))
    expect(checkChain(second, batchOf('c', 1, 1, lineOf('a', 5).hash))).toMatchObject({
      mark: 'rewind',
    })
    expect(checkChain(second, batchOf('c', 1, 1, FIRST_PREVIOUS))).toMatchObject({
      mark: 'rewind',
    })
    expect(checkChain(second, batchOf('a', 6, 6))).toMatchObject({ mark: 'rewind' })
    expect(checkChain(second, batchOf('a', 3, 5))).toEqual({ kind: 'known' })
  })

  it('remembers a bounded number of boots', () => {
    let chain = first
    for (let boot = 0; boot < 100; boot += 1)
      chain = follow(chain, batchOf(`b${boot}`, 1, 1, chain.position.hash))
    expect(chain.earlier).toHaveLength(64)
    expect(chain.earlier[0]?.boot).toBe('b98')
  })

  it('counts no further than the safe integers', () => {
    const most = Number.MAX_SAFE_INTEGER
    const outcome = checkChain({ ...first, lost: most - 1, left_out: most }, batchOf('a', 6, 6))
    if (outcome.kind !== 'continues') throw new Error(outcome.kind)
    const counts = { lost: 5, left_out: 5, receivedMs: 1 }
    const { header } = batchOf('a', 6, 6)
    const next = extendChain({ ...first, lost: most - 1, left_out: most }, header, outcome, counts)
    expect(next).toMatchObject({ lost: most, left_out: most })
  })

  it('takes each line once, however often and in whatever pieces it arrives', () => {
    const piece = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 10 }))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        let chain: DeviceChain | null = null
        const taken: number[] = []
        for (const [start, more] of pieces) {
          const before = start === 1 ? FIRST_PREVIOUS : undefined
          const batch = batchOf('a', start, start + more, before)
          const outcome = checkChain(chain, batch)
          if (outcome.kind !== 'continues') continue
          taken.push(...outcome.lines.map(({ seq }) => seq))
          const counts = { lost: 0, left_out: 0, receivedMs: 1 }
          const next: DeviceChain = extendChain(chain, batch.header, outcome, counts)
          expect(next.received_ms).toBeGreaterThan(chain?.received_ms ?? 0)
          expect(next.forks + next.rewinds).toBe(0)
          chain = next
        }
        expect(taken).toEqual([...new Set(taken)].toSorted((a, b) => a - b))
      }),
      { numRuns: 2000 },
    )
  })
})

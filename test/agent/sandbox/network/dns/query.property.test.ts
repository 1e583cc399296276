import packet from 'dns-packet'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_QUERY_BYTES, readQuery } from '../../../../../agent/src/sandbox/network/dns/query.ts'
import { casesOfRun, seedOfRun } from '../../../../lanes/run-size.ts'

const EDNS: packet.OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
}

function question(name = 'a.test', overrides: packet.Packet = {}): Buffer {
  const questions = [{ name, type: 'A' as const, class: 'IN' as const }]
  return packet.encode({ type: 'query', id: 7, flags: 0x0120, questions, ...overrides })
}

/** Sets one 16-bit word of the header. */
function withWord(at: number, word: number): Buffer {
  const changed = Buffer.from(question())
  changed.writeUInt16BE(word, at)
  return changed
}

/** A question with these bytes in place of its name. */
function withName(...bytes: readonly number[]): Buffer {
  return Buffer.concat([question().subarray(0, 12), Buffer.from([...bytes, 0, 1, 0, 1])])
}

function rcodeOf(bytes: Buffer): number | string {
  const read = readQuery(bytes)
  return read.kind === 'refused' ? read.rcode : read.kind
}

describe('a query', () => {
  it('has one question with its name and type', () => {
    expect(readQuery(question('A.test'))).toMatchObject({
      kind: 'query',
      name: 'A.test',
      type: 1,
      head: { id: 7, isRecursionDesired: true, hasEdns: false },
    })
    expect(readQuery(question('a.test', { flags: 0 }))).toMatchObject({
      head: { isRecursionDesired: false },
    })
  })

  it('may have a pseudo-record of EDNS', () => {
    expect(readQuery(question('a.test', { additionals: [EDNS] }))).toMatchObject({
      kind: 'query',
      head: { hasEdns: true },
    })
  })

  it.each([
    ['an answer, which could begin a loop', withWord(2, 0x8000)],
    ['shorter than a header', question().subarray(0, 11)],
    ['empty', Buffer.alloc(0)],
  ])('is ignored when it is %s', (_, bytes) => {
    expect(rcodeOf(bytes)).toBe('ignored')
  })

  it.each([
    ['no question', withWord(4, 0)],
    ['two questions', withWord(4, 2)],
    ['an answer', withWord(6, 1)],
    ['an authority record', withWord(8, 1)],
    ['a missing pseudo-record', withWord(10, 1)],
    ['two additional records', question('a.test', { additionals: [EDNS, EDNS] })],
    [
      'another additional record',
      question('a.test', { additionals: [{ type: 'A', name: '.', data: '192.0.2.1' }] }),
    ],
    ['a later version of EDNS', question('a.test', { additionals: [{ ...EDNS, ednsVersion: 1 }] })],
    ['bytes at the end', Buffer.concat([question(), Buffer.alloc(1)])],
    ['more bytes than a query needs', Buffer.concat([question(), Buffer.alloc(MAX_QUERY_BYTES)])],
    ['a cut-off question', question().subarray(0, -1)],
    ['only a header', question().subarray(0, 12)],
    ['a set TC bit', withWord(2, 0x0200)],
    ['a set AA bit', withWord(2, 0x0400)],
    ['a set Z bit', withWord(2, 0x0040)],
    ['a response code', withWord(2, 0x0001)],
    ['a name that points to itself', withName(0xc0, 12)],
    ['a name that ends in a pointer', withName(1, 97, 0xc0, 12)],
    ['a bit label', withName(0x41, 1, 0)],
    ['a label beyond the packet', withName(63, 97, 0)],
    ['a name without an end', withName(1, 97)],
    [
      'a name of 256 bytes',
      withName(...Array.from({ length: 127 }, () => [1, 97]).flat(), 1, 97, 0),
    ],
  ])('is malformed with %s', (_, bytes) => {
    expect(rcodeOf(bytes)).toBe(1)
  })

  it('of another operation is not implemented, of another class refused', () => {
    expect(rcodeOf(withWord(2, 0x1000))).toBe(4)
    const chaos = Buffer.from(question('version.bind'))
    chaos.writeUInt16BE(3, chaos.length - 2)
    expect(rcodeOf(chaos)).toBe(5)
  })

  it.each([
    ['a dot within a label', withName(3, 97, 46, 98, 0)],
    ['a NUL', withName(3, 97, 0, 98, 0)],
    ['a byte beyond ASCII', withName(1, 0xe9, 0)],
    ['a space', withName(1, 32, 0)],
  ])('names no host with %s', (_, bytes) => {
    expect(readQuery(bytes)).toMatchObject({ kind: 'query', name: null })
  })

  it('may be for the root, which is no host', () => {
    expect(readQuery(withName(0))).toMatchObject({ kind: 'query', name: '' })
  })

  it('of any bytes never throws', () => {
    const bytes = fc.uint8Array({ maxLength: 600 })
    const changed = fc
      .tuple(fc.nat({ max: 40 }), fc.nat({ max: 255 }), fc.nat({ max: 40 }))
      .map(([at, byte, length]) => {
        const copy = Buffer.from(question('a.b.test', { additionals: [EDNS] }))
        copy[at % copy.length] = byte
        return copy.subarray(0, Math.max(copy.length - (length > 20 ? length - 20 : 0), 0))
      })
    fc.assert(
      fc.property(fc.oneof(bytes, changed), (each) => {
        const read = readQuery(Buffer.from(each))

        expect(['query', 'refused', 'ignored']).toContain(read.kind)
        expect(read.kind === 'query' ? (read.name ?? '') : '').toMatch(/^[!-~]*$/)
      }),
      { seed: seedOfRun(), numRuns: casesOfRun(50_000) },
    )
  })
})

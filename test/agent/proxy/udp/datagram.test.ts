import { fc } from '@fast-check/vitest'
import { canonicalAddress } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import {
  formatFrame,
  MAX_PAYLOAD_BYTES,
  readDatagram,
} from '../../../../agent/src/proxy/udp/datagram.ts'
import { frameTo, frameToName } from '../../fixture/udp.ts'

describe('the frame of a datagram', () => {
  it.each([
    ['an IPv4 address', frameTo([192, 0, 2, 7], 53, 'x'), '192.0.2.7'],
    [
      'an IPv6 address',
      frameTo([0x20, 1, 13, 184, ...Buffer.alloc(11), 1], 53, 'x'),
      '2001:db8::1',
    ],
    ['a name', frameToName('WWW.Example.com.', 53, 'x'), 'www.example.com'],
    ['a name that is an address', frameToName('0x7f.1', 53, 'x'), '127.0.0.1'],
  ])('names %s in canonical form', (_title, frame, host) => {
    expect(readDatagram(frame)).toEqual({ target: { host, port: 53 }, payload: Buffer.from('x') })
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a fragment', frameTo([192, 0, 2, 7], 53, 'x', 1)],
    ['the last fragment', frameTo([192, 0, 2, 7], 53, 'x', 0x81)],
    ['a reserved byte', Buffer.from([0, 1, 0, 1, 192, 0, 2, 7, 0, 53, 1])],
    ['an unknown address type', Buffer.from([0, 0, 0, 2, 192, 0, 2, 7, 0, 53, 1])],
    ['port 0', frameTo([192, 0, 2, 7], 0, 'x')],
    ['half an address', Buffer.from([0, 0, 0, 4, 1, 2, 3, 4, 0, 53])],
    ['half a port', frameTo([192, 0, 2, 7], 53, '').subarray(0, 9)],
    ['a name beyond its end', Buffer.from([0, 0, 0, 3, 200, 97, 46, 98, 0, 53])],
    ['an empty name', frameToName('', 53, 'x')],
    ['NUL in a name', frameToName('a.test\0.evil.test', 53, 'x')],
    ['a name that holds a port', frameToName('a.test:53', 53, 'x')],
    ['IPv6 as a name', frameToName('::1', 53, 'x')],
    ['too many bytes', frameTo([192, 0, 2, 7], 53, Buffer.alloc(MAX_PAYLOAD_BYTES + 1))],
  ])('is not read with %s', (_title, frame) => {
    expect(readDatagram(frame)).toBeNull()
  })

  it('is read with no payload, and with the largest one', () => {
    for (const length of [0, MAX_PAYLOAD_BYTES])
      expect(readDatagram(frameTo([192, 0, 2, 7], 53, Buffer.alloc(length)))?.payload).toHaveLength(
        length,
      )
  })

  it('is written as it is read, for every address', () => {
    const word = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }))
    const address = fc.oneof(
      fc.ipV4(),
      fc
        .array(word, { minLength: 8, maxLength: 8 })
        .map((words) => words.map((each) => each.toString(16)).join(':')),
    )
    fc.assert(
      fc.property(address, fc.integer({ min: 1, max: 0xffff }), (text, port) => {
        const host = canonicalAddress(text)
        const read = readDatagram(formatFrame(host ?? '', port))

        expect(read).toEqual({ target: { host, port }, payload: Buffer.alloc(0) })
      }),
    )
  })
})

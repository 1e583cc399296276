import { describe, expect, it } from 'vitest'
import { createFirstFlight } from '../../../../agent/src/proxy/content/first-flight.ts'
import type { Flight } from '../../../../agent/src/proxy/content/flight.ts'
import {
  clientHello,
  ENCRYPTED_CLIENT_HELLO,
  helloMessage,
  serverNameExtension,
} from '../../fixture/client-hello.ts'

const HELLO = clientHello({ serverName: 'a.test' })
const TLS = { kind: 'tls', serverName: 'a.test', hasEncryptedHello: false }

/** Reads `bytes` in pieces; null when they are not classified at their end. */
function read(bytes: Buffer | string, pieceBytes = 1 << 20): Flight | null {
  const first = createFirstFlight()
  const all = Buffer.from(bytes as string, 'latin1')
  for (let start = 0; start < all.length; start += pieceBytes) {
    const flight = first.read(all.subarray(start, start + pieceBytes))
    if (flight !== null) return flight
  }
  return null
}

describe('a ClientHello', () => {
  it.each([
    ['in one piece', HELLO, 1 << 20],
    ['byte by byte', HELLO, 1],
    ['in records of one byte', clientHello({ serverName: 'a.test', recordBytes: 1 }), 7],
    ['longer than a record', clientHello({ serverName: 'a.test', padding: 20_000 }), 1_000],
  ])('%s names its server', (_title, bytes, pieceBytes) => {
    expect(read(bytes, pieceBytes)).toEqual(TLS)
  })

  it('may name no server', () => {
    expect(read(clientHello({ serverName: null }))).toMatchObject({ kind: 'tls', serverName: null })
  })

  it('may be encrypted behind an outer name', () => {
    const extensions = [[ENCRYPTED_CLIENT_HELLO, Buffer.from([0, 1, 2])]] as const
    expect(read(clientHello({ serverName: 'outer.test', extensions }))).toEqual({
      kind: 'tls',
      serverName: 'outer.test',
      hasEncryptedHello: true,
    })
  })

  it('of SSL 2 names no server', () => {
    expect(read(Buffer.from([0x80, 0x2e, 1, 3, 1, 0]))).toMatchObject({ serverName: null })
  })

  it.each([
    [
      'with two names',
      clientHello({ serverName: null, extensions: [[0, serverNameExtension('a.test', 'b.test')]] }),
    ],
    [
      'with two server_name extensions',
      clientHello({ serverName: 'a.test', extensions: [[0, serverNameExtension('b.test')]] }),
    ],
    ['with an empty name', clientHello({ serverName: '' })],
    [
      'with bytes after the list of names',
      clientHello({
        serverName: null,
        extensions: [[0, Buffer.concat([serverNameExtension('a.test'), Buffer.from([0])])]],
      }),
    ],
    ['longer than 64 KiB', clientHello({ serverName: 'a.test', padding: 65_500 })],
    [
      'cut inside its record',
      Buffer.concat([HELLO.subarray(0, 3), Buffer.from([0, 9]), HELLO.subarray(5, 60)]),
    ],
    ['followed by another message', Buffer.concat([Buffer.from([22, 3, 1, 0, 0]), HELLO])],
    [
      'with a further message in its record',
      (() => {
        const message = Buffer.concat([helloMessage({ serverName: 'a.test' }), Buffer.from([0])])
        return Buffer.concat([
          Buffer.from([22, 3, 1, message.length >> 8, message.length & 255]),
          message,
        ])
      })(),
    ],
    [
      'broken by an alert',
      Buffer.concat([
        clientHello({ serverName: 'a.test', recordBytes: 9 }).subarray(0, 14),
        Buffer.from([21, 3, 1, 0, 2, 1, 0]),
      ]),
    ],
    ['in an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['that is another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['in a record of version 2', Buffer.concat([Buffer.from([22, 2, 0]), HELLO.subarray(3)])],
    ['in a record of version 0', Buffer.concat([Buffer.from([22, 0, 0]), HELLO.subarray(3)])],
    ['after a warning', Buffer.concat([Buffer.from([21, 3, 1, 0, 2, 1, 90]), HELLO])],
    [
      'after a ChangeCipherSpec',
      Buffer.concat([Buffer.from([20, 3, 3, 0, 1, 1]), clientHello({ serverName: 'a.test' })]),
    ],
    [
      'after a ChangeCipherSpec of version 1',
      Buffer.concat([Buffer.from([20, 1, 0, 0, 1, 1]), clientHello({ serverName: 'a.test' })]),
    ],
    ['after application data', Buffer.from([23, 3, 3, 0, 1, 1, 22, 3, 3])],
    ['after a heartbeat', Buffer.from([24, 3, 1, 0, 3, 1, 0, 0])],
    ['after a fatal alert', Buffer.from([21, 3, 3, 0, 2, 9, 9])],
    ['after a warning of version 1', Buffer.concat([Buffer.from([21, 1, 0, 0, 2, 1, 90]), HELLO])],
  ])('%s is malformed', (_title, bytes) => {
    expect(read(bytes)).toEqual({ kind: 'malformed', protocol: 'tls' })
    expect(read(bytes, 1)).toEqual({ kind: 'malformed', protocol: 'tls' })
  })
})

describe('an HTTP request', () => {
  it('is read with its head, however it is split', () => {
    const text = 'GET /x HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\nbody'
    for (const pieceBytes of [1, 5, 1_000])
      expect(read(text, pieceBytes)).toMatchObject({
        kind: 'http',
        head: {
          method: 'GET',
          target: '/x',
          minorVersion: 1,
          rawHeaders: ['Host', 'a.test', 'Accept', '*/*'],
        },
      })
  })

  it.each([
    ['with line feeds alone', 'GET / HTTP/1.1\nHost: a.test\n\n'],
    ['after an empty line', '\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with two spaces', 'GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with a tab', 'GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['of version 1.9', 'GET / HTTP/1.9\r\nHost: a.test\r\n\r\n'],
    ['with a blank after the version', 'GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n'],
    ['with a version in lower case', 'GET / http/1.1\r\nHost: a.test\r\n\r\n'],
    ['with a folded field', 'GET / HTTP/1.1\r\nHost: a.test\r\n x\r\n\r\n'],
    ['with a space before the colon', 'GET / HTTP/1.1\r\nHost : a.test\r\n\r\n'],
    ['with a bare CR', 'GET / HTTP/1.1\r\nX: a\rHost: b\r\n\r\n'],
    ['with NUL in a field', 'GET / HTTP/1.1\r\nHost: a.test\0\r\n\r\n'],
    ['with a head without end', `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(20_000)}`],
    ['with a vertical tab', 'GET\x0b/\x0bHTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with a blank of Latin-1', 'GET\xa0/\x85HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['after a blank of Latin-1', '\xa0GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['after a file separator', '\x1cGET / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with NUL, after a separator', '\x1cGET\x1f/\0 HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with NUL in its target', 'GET /\0 HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['with letters in its version', 'GET / HTTP/1.1x\r\nHost: a.test\r\n\r\n'],
    ['with the version of RTSP', 'GET / RTSP/1.0\r\nHost: a.test\r\n\r\n'],
    ['with the version of ICE', 'SOURCE / ICE/1.0\r\nX: y\r\nhost : a.test\r\n\r\n'],
    ['without version', 'GET /\r\nHost: a.test\r\n\r\n'],
    ['without version, after a vertical tab', 'GET\x0b/\x0b\r\nHost: a.test\r\n\r\n'],
    ['without version, for no path', 'OPTIONS *\r\nHost: a.test\r\n\r\n'],
    ['without version, for a server', 'GET http://a.test/\r\n'],
    ['with a first line without end', `GET /${'x'.repeat(70_000)}`],
  ])('%s is malformed', (_title, text) => {
    expect(read(text)).toEqual({ kind: 'malformed', protocol: 'http' })
    expect(read(text, 3)).toEqual({ kind: 'malformed', protocol: 'http' })
  })

  it('is read in linear time, whatever its blanks', () => {
    const before = performance.now()
    for (const blank of [' ', '\x1c', ' HTTP/', 'A ']) {
      const blanks = blank.repeat(15_000 / blank.length)
      read(`GET /${blanks} HTTP/${blanks}x\n`)
    }
    // A quadratic search takes seconds.
    expect(performance.now() - before).toBeLessThan(500)
  })

  it('of HTTP/2 without TLS is recognized', () => {
    expect(read('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toEqual({ kind: 'http2' })
  })

  it('waits with its fields, not with its first line', () => {
    const first = createFirstFlight()
    expect(first.read(Buffer.from('GET / HT'))).toBeNull()
    expect(first.harmless().toString()).toBe('GET / HT')
    expect(first.read(Buffer.from('TP/1.1\r\nHost: a'))).toBeNull()
    expect(first.harmless()).toHaveLength(0)
  })

  it('is complete at the end of the stream too', () => {
    const first = createFirstFlight()
    first.read(Buffer.from('GET / HTTP/1.1\r\nHost: a.test'))
    expect(first.end()).toMatchObject({ kind: 'http', head: { rawHeaders: ['Host', 'a.test'] } })
  })
})

describe('another protocol', () => {
  it.each([
    ['SSH', 'SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n'],
    ['SMTP', 'EHLO example.com\r\n'],
    ['Redis', '*1\r\n$4\r\nPING\r\n'],
    ['PostgreSQL', '\0\0\0\x08\x04\xd2\x16\x2f'],
    ['AMQP', 'AMQP\0\0\x09\x01'],
    ['git', '0032git-upload-pack /project.git\0host=a.test\0'],
    ['MongoDB', '\x16\x01\0\0\x07\0\0\0\0\0\0\0\xdd\x07\0\0'],
    ['MongoDB with another length', '\x15\x01\0\0\x02\0\0\0\0\0\0\0\xdd\x07\0\0'],
    ['MongoDB with the length of application data', '\x17\x03\0\0\x07\0\0\0\0\0\0\0\xdd\x07\0\0'],
    ['MongoDB with the length of a cipher change', '\x14\x01\0\0\x07\0\0\0\0\0\0\0\xdd\x07\0\0'],
    ['empty lines before NUL', '\r\n\0\r\nQUIT'],
    ['MQTT', '\x10\x16\0\x04MQTT'],
    ['JSON', '{"a":1}'],
    ['RTSP', 'DESCRIBE rtsp://a.test/x RTSP/1.0\r\nCSeq: 1\r\n\r\n'],
    ['an inline command', 'GET key\r\n'],
    ['SIP', 'OPTIONS sip:a@a.test SIP/2.0\r\n'],
    ['a blank before NUL', '\t\0T / HTTP/1.1\r\n'],
    ['binary text', '\x1f\x8b\x08\0\0'],
    ['a long word', 'x'.repeat(300)],
  ])('such as %s is opaque', (_title, text) => {
    expect(read(text)).toEqual({ kind: 'opaque' })
    expect(read(text, 1)).toEqual({ kind: 'opaque' })
  })

  it('with a command without line break need not wait', () => {
    const first = createFirstFlight()
    expect(first.read(Buffer.from('ruok'))).toBeNull()
    expect(first.harmless().toString()).toBe('ruok')
    expect(first.end()).toEqual({ kind: 'opaque' })
  })
})

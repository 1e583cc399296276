import type { Random } from '../../../bench/src/workload/random.ts'
import {
  clientHello,
  ENCRYPTED_CLIENT_HELLO,
  serverNameExtension,
} from '../../agent/fixture/client-hello.ts'
import { GREETING, socksAddress, socksName } from '../../agent/fixture/socks.ts'

export type Kind = 'tls' | 'http' | 'socks5'

/** First bytes of a program, mutated in most cases. */
export interface DrawnBytes {
  readonly kind: Kind
  readonly bytes: Buffer
  /** The server name of an unchanged hello. */
  readonly serverName: string | null
}

const NAMES = ['x.allowed.test', 'evil.test', 'X.Allowed.Test', 'a'.repeat(63), '127.0.0.1', '']
const METHODS = ['GET', 'POST', 'CONNECT', 'OPTIONS', 'SOURCE', 'PRI', 'get', 'M-SEARCH', 'G\0T']
const TARGETS = [
  '/',
  '*',
  '/a b',
  '/\0',
  '//x/',
  'http://evil.test/',
  'foo://evil.test/',
  'a.test:1',
]
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'http/1.1',
  'RTSP/1.0',
  'ICE/1.0',
  'HTTP/1.1x',
  '',
]
const BLANKS = [' ', '\t', '  ', '\x0b', '\x1c', '\xa0', '\r']
const LINE_ENDS = ['\r\n', '\n', '\r', '\r\r\n', '\n\r']
const FIELDS = ['Host: x.allowed.test', 'Host: evil.test', 'host:evil.test', ' Host: evil.test']
const MORE_FIELDS = [
  'Host : evil.test',
  'Upgrade: h2c',
  'X: y',
  'X:\0',
  'Content-Length: 3',
  'X: \xff',
]

/** Draws the bytes of one case; every third is left unchanged. */
export function drawBytes(random: Random): DrawnBytes {
  const kind = random.pick(['tls', 'http', 'socks5'] as const)
  const serverName = random.pick(NAMES)
  const bytes =
    kind === 'tls'
      ? drawHello(random, serverName)
      : kind === 'http'
        ? drawHead(random)
        : drawSocks(random)
  if (random.next() < 1 / 3) return { kind, bytes, serverName: kind === 'tls' ? serverName : null }
  return { kind, bytes: mutate(random, bytes), serverName: null }
}

function drawHello(random: Random, serverName: string): Buffer {
  const extensions: [number, Buffer][] = []
  // GREASE (RFC 8701), ECH, a second name, and a long extension.
  if (random.next() < 0.3) extensions.push([0x1a1a, Buffer.alloc(random.integer(3))])
  if (random.next() < 0.2) extensions.push([ENCRYPTED_CLIENT_HELLO, Buffer.alloc(5)])
  if (random.next() < 0.3) extensions.push([16, serverNameExtension('h2')])
  const recordBytes = random.next() < 0.5 ? 16_384 : 1 + random.integer(300)
  return clientHello({ serverName, extensions, recordBytes, padding: random.integer(50) })
}

function drawHead(random: Random): Buffer {
  const ordinary = ['GET / HTTP/1.1', `Host: ${random.pick(NAMES)}`, 'Accept: */*', '', '']
  if (random.next() < 0.4) return Buffer.from(ordinary.join('\r\n'))
  const usual = random.next() < 0.5
  const blank = (): string => (usual ? ' ' : random.pick(BLANKS))
  const end = (): string => (usual || random.next() < 0.7 ? '\r\n' : random.pick(LINE_ENDS))
  const line = [random.pick(METHODS), blank(), random.pick(TARGETS), blank(), random.pick(VERSIONS)]
  const fields = Array.from({ length: random.integer(4) }, () =>
    random.pick(random.next() < 0.6 ? FIELDS : MORE_FIELDS),
  )
  const before = random.next() < 0.1 ? random.pick([...LINE_ENDS, ...BLANKS]) : ''
  const lines = [line.join(''), ...fields, ''].map((each) => `${each}${end()}`)
  return Buffer.from(`${before}${lines.join('')}`, 'latin1')
}

function drawSocks(random: Random): Buffer {
  const port = random.pick([0, 80, 443, 65_535])
  const command = random.pick([1, 1, 1, 2, 3, 9])
  const request =
    random.next() < 0.6
      ? socksName(random.pick([...NAMES, '::1', '0x7f.1', 'x.allowed.test\0']), port, command)
      : socksAddress(
          random.pick([
            [10, 0, 0, 1],
            [...Buffer.alloc(15), 1],
          ]),
          port,
          command,
        )
  return Buffer.concat([GREETING, request])
}

/** Changes, inserts, removes, repeats or cuts bytes, one to four times. */
function mutate(random: Random, bytes: Buffer): Buffer {
  let changed = Buffer.from(bytes)
  for (let count = 1 + random.integer(4); count > 0; count -= 1) {
    const at = random.integer(changed.length + 1)
    const [before, after] = [changed.subarray(0, at), changed.subarray(at)]
    const some = Buffer.from([random.pick([0, 1, 9, 10, 13, 22, 32, 58, 255, random.integer(256)])])
    changed = random.pick([
      () => Buffer.concat([before, some, after]),
      () => Buffer.concat([before, some, after.subarray(1)]),
      () => Buffer.concat([before, after.subarray(1 + random.integer(4))]),
      () => Buffer.concat([before, after.subarray(0, 8), after]),
      () => before,
    ])()
  }
  return changed
}

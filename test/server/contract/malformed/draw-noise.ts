import type { Random } from '../../../../bench/src/workload/random.ts'

/** Pieces of HTTP messages, and of other protocols. */
const PIECES: readonly string[] = [
  'GET ',
  'POST ',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '/healthz ',
  '/v2/orgs/acme/governance/policies ',
  'http://x/healthz ',
  'HTTP/1.1\r\n',
  'HTTP/1.0\r\n',
  'HTTP/9.9\r\n',
  'Host: x\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'Expect: 100-continue\r\n',
  'Expect: the unexpected\r\n',
  'Content-Type: application/json\r\n',
  ': no name\r\n',
  'no colon\r\n',
  ' folded\r\n',
  '\r\n',
  '\n',
  '\r',
  '\0',
  '5\r\nhello\r\n',
  'ffffffffffffffffff\r\n',
  '0\r\n\r\n',
  '{"name":"x"}',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'x'.repeat(20_000),
  `X: ${'y'.repeat(2000)}\r\n`,
]

/** Share of blank lines, the only noise without an answer; random pieces rarely consist of it. */
const BLANK_SHARE = 0.05

/** Draws bytes that are rarely a request: pieces in any order, some of them random bytes. */
export function drawNoise(random: Random): Buffer {
  if (random.next() < BLANK_SHARE) return Buffer.from('\r\n'.repeat(random.integer(4)))
  const pieces = Array.from({ length: 1 + random.integer(12) }, () =>
    random.next() < 0.15
      ? Buffer.from(Array.from({ length: random.integer(64) }, () => random.integer(256)))
      : Buffer.from(random.pick(PIECES), 'latin1'),
  )
  return Buffer.concat(pieces)
}

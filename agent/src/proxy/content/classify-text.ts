import { MAX_HEAD_BYTES } from '../../http/header-list.ts'
import type { Classifier, Flight } from './flight.ts'
import { parseHttpHead } from './http-head.ts'

const MAX_METHOD_BYTES = 256

const NUL = 0
const LF = 10
const CR = 13

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/
/** Also spellings that only a lenient server accepts, so that they are refused, not passed on. */
const REQUEST_LINE = /[\s\p{Cc}]HTTP\/[^\s\p{Cc}]*[\s\p{Cc}]*$/iu
/** Node takes these for HTTP, with `Host` and all. */
const RELATED_LINE = /[ \t](?:RTSP|ICE)\/\S*\s*$/
/** Without version: some servers read fields after it, others take the host of the target. */
const OLD_REQUEST_LINE = /^[\s\p{Cc}]*[A-Z-]+[\s\p{Cc}]+(?:[/*]|[^\s/?#:]*:\/\/)/u
const HTTP2_PREFACE = /^PRI\b/
const HOST_FIELD = /^[ \t]*host[ \t]*:/i

/** Starts of the PROXY protocol of HAProxy, versions 1 and 2. */
const PROXY_LINE = /^PROXY /
const PROXY_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

const PROXIED: Flight = { kind: 'proxied' }
const OPAQUE: Flight = { kind: 'opaque' }
const MALFORMED: Flight = { kind: 'malformed', protocol: 'http' }

/**
 * Tells HTTP from other protocols. An HTTP request is certain only at the end of its first line:
 * SMTP and others begin with a word and a space too. That line chooses no server, so it may go on
 * before its end: in some protocols a command has no line break.
 */
export function createTextClassifier(): Classifier {
  let stage: 'method' | 'line' | 'fields' = 'method'
  let methodStart: number | null = null
  let isRelated = false
  let lineStart = 0
  /** All bytes before it are read. */
  let position = 0

  const readMethod = (received: Buffer): Flight | null => {
    for (; position < received.length; position += 1) {
      const byte = received[position] ?? NUL
      if (methodStart === null && (byte === CR || byte === LF)) {
        lineStart = position + 1
        continue
      }
      methodStart ??= position
      if (byte !== CR && byte !== LF && isBlank(byte)) {
        stage = 'line'
        return null
      }
      const isLong = position - methodStart > MAX_METHOD_BYTES
      if (isLong || !METHOD.test(String.fromCharCode(byte))) return classifyNoMethod(received)
    }
    return null
  }

  /** The next whole line in latin1, without its LF. */
  const takeLine = (received: Buffer): string | null => {
    const end = received.indexOf(LF, position)
    position = end < 0 ? received.length : end + 1
    if (end < 0) return null
    const line = received.toString('latin1', lineStart, end)
    lineStart = position
    return line
  }

  const readFirstLine = (received: Buffer): Flight | null => {
    const from = position
    const line = takeLine(received)
    const nul = received.subarray(from, position).indexOf(NUL)
    if (nul >= 0 && !hasMethod(received.subarray(methodStart ?? 0, from + nul))) return OPAQUE
    if (line === null) return null
    if (PROXY_LINE.test(line)) return PROXIED
    isRelated = RELATED_LINE.test(line)
    if (!isRelated && !REQUEST_LINE.test(line))
      return OLD_REQUEST_LINE.test(line) ? MALFORMED : OPAQUE
    if (HTTP2_PREFACE.test(line)) return { kind: 'http2' }
    stage = 'fields'
    return null
  }
  const readFields = (received: Buffer): Flight | null => {
    for (;;) {
      const line = takeLine(received)
      if (line === null) return null
      if (isRelated && HOST_FIELD.test(line)) return MALFORMED
      if (line !== '' && line !== '\r') continue
      if (isRelated) return OPAQUE
      const head = parseHttpHead(received.toString('latin1', 0, lineStart))
      return head === null ? MALFORMED : { kind: 'http', head }
    }
  }

  return {
    read(received) {
      const flight =
        (stage === 'method' ? readMethod(received) : null) ??
        (stage === 'line' ? readFirstLine(received) : null) ??
        (stage === 'fields' ? readFields(received) : null)
      return flight ?? (received.length > MAX_HEAD_BYTES ? MALFORMED : null)
    },
    harmless: () => (stage === 'fields' ? 0 : position),
  }
}

/** Also blanks of Python, whose servers split the first line at them. */
function isBlank(byte: number): boolean {
  return (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 32) || byte === 0x85 || byte === 0xa0
}

/** For bytes that begin no request; null while they may begin a PROXY header. */
function classifyNoMethod(received: Buffer): Flight | null {
  const start = received.subarray(0, PROXY_SIGNATURE.length)
  if (!start.equals(PROXY_SIGNATURE.subarray(0, start.length))) return OPAQUE
  return start.length < PROXY_SIGNATURE.length ? null : PROXIED
}

/** Whether a request may begin so, before a NUL: some servers accept it in the target. */
function hasMethod(before: Buffer): boolean {
  if (before.length > 2 * MAX_METHOD_BYTES) return true
  return /^[\s\p{Cc}]*[A-Z-]+[\s\p{Cc}]/u.test(before.toString('latin1'))
}

import type { Socket } from 'node:net'
import { pairHeaders, valuesOf } from '../../http/header-list.ts'
import type { HttpHead } from './http-head.ts'

/**
 * How a request over HTTP/1.1 offers HTTP/2 without TLS (RFC 7540 §3.2). `mixed` stands for an
 * offer beside other protocols, or in several fields.
 */
export function readHttp2Offer(head: HttpHead): 'none' | 'plain' | 'mixed' {
  const upgrades = valuesOf(pairHeaders(head.rawHeaders), 'upgrade')
  if (!upgrades.some((value) => /\bh2c\b/i.test(value))) return 'none'
  return upgrades.length === 1 && /^h2c$/i.test(upgrades[0] ?? '') ? 'plain' : 'mixed'
}

const OFFER_FIELD = /^(?:upgrade|http2-settings):/i
const CONNECTION_FIELD = /^(connection:)(.*)$/i
const OFFER_OPTION = /^(?:upgrade|http2-settings)$/i

/** Takes a plain offer out of the end of a head, and leaves the bytes after it as they are. */
export function withoutHttp2Offer(held: Buffer): Buffer {
  const end = held.indexOf('\r\n\r\n')
  const [first = '', ...fields] = held.toString('latin1', 0, end).split('\r\n')
  const kept = fields.filter((field) => !OFFER_FIELD.test(field)).flatMap(withoutOptions)
  return Buffer.concat([Buffer.from([first, ...kept].join('\r\n'), 'latin1'), held.subarray(end)])
}

function withoutOptions(field: string): readonly string[] {
  const [, name, options] = CONNECTION_FIELD.exec(field) ?? []
  if (name === undefined || options === undefined) return [field]
  const kept = options.split(',').filter((option) => !OFFER_OPTION.test(option.trim()))
  return kept.length === 0 ? [] : [`${name}${kept.join(',')}`]
}

const STATUS_LINE_START = 'HTTP/1.1 101'

/**
 * Calls `onSwitch` if the next bytes of the target begin an answer 101, before they are passed on.
 */
export function watchForSwitch(upstream: Socket, onSwitch: () => void): void {
  let start = ''
  const look = (chunk: Buffer): void => {
    start += chunk.toString('latin1', 0, STATUS_LINE_START.length - start.length)
    if (start.length < STATUS_LINE_START.length) return
    upstream.off('data', look)
    if (/^HTTP\/1\.[01] 101$/.test(start)) onSwitch()
  }
  upstream.prependListener('data', look)
}

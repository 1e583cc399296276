import { isIPv6 } from 'node:net'
import { ipv6Words } from '../../host/process-lookup/ipv6-words.ts'
import { ADDRESS_TYPE, addressLength, readTarget } from '../socks/frames.ts'
import type { Target } from '../target/authority.ts'

/** A datagram of a program, in its frame of RFC 1928 §7. */
export interface Datagram {
  readonly target: Target
  readonly payload: Buffer
}

/** Bytes before `DST.ADDR`. */
const PREFIX_BYTES = 4

/** The largest payload that fits an IPv4 datagram together with the longest frame of an answer. */
export const MAX_PAYLOAD_BYTES = 65_507 - (PREFIX_BYTES + 16 + 2)

/**
 * Reads a frame. Returns null for a malformed one, for a target that no TCP request could name
 * either, and for a fragment: a program may not rely on fragments, because few proxies join them.
 */
export function readDatagram(frame: Buffer): Datagram | null {
  const [first, second, fragment, type = 0] = frame
  if (first !== 0 || second !== 0 || fragment !== 0) return null
  const address = findAddress(frame, type)
  if (address === null || frame.length < address.end + 2) return null
  const port = frame.readUInt16BE(address.end)
  const target = readTarget(type, frame.subarray(address.start, address.end), port)
  const payload = frame.subarray(address.end + 2)
  return target === null || payload.length > MAX_PAYLOAD_BYTES ? null : { target, payload }
}

function findAddress(
  frame: Buffer,
  type: number,
): { readonly start: number; readonly end: number } | null {
  const length = addressLength(type)
  if (length === null) return null
  if (length !== 'prefixed') return { start: PREFIX_BYTES, end: PREFIX_BYTES + length }
  const start = PREFIX_BYTES + 1
  return { start, end: start + (frame[PREFIX_BYTES] ?? 0) }
}

/** The frame before a payload from `port` of a canonical address. */
export function formatFrame(address: string, port: number): Buffer {
  const isLong = isIPv6(address)
  const frame = Buffer.alloc(PREFIX_BYTES + (isLong ? 16 : 4) + 2)
  frame[3] = isLong ? ADDRESS_TYPE.ipv6 : ADDRESS_TYPE.ipv4
  if (isLong)
    for (const [index, word] of ipv6Words(address).entries())
      frame.writeUInt16BE(word, PREFIX_BYTES + 2 * index)
  else frame.set(address.split('.').map(Number), PREFIX_BYTES)
  frame.writeUInt16BE(port, frame.length - 2)
  return frame
}
